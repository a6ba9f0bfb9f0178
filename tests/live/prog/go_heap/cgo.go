//go:build cgo_part

package main

// #include <stdlib.h>
import "C"

func init() { C.free(C.malloc(1)) }
