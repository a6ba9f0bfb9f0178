//go:build cgo

// With the C library: a thread's stack then lies above those of goroutines.
package main

import "C"
