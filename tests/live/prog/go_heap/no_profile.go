//go:build !profile

package main

func profile(string) {}
