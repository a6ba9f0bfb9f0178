//go:build !c

package main

func foreign(n int) int { return n }
