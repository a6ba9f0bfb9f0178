//go:build profile

package main

import (
	"os"
	"runtime/pprof"
)

func profile(path string) {
	f, err := os.Create(path)
	if err == nil {
		err = pprof.Lookup("heap").WriteTo(f, 0)
		f.Close()
	}
	if err != nil {
		panic(err)
	}
}
