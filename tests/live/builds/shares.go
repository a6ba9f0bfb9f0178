// As shares.c.
package main

import (
	"os"
	"strconv"
	"syscall"
)

var sink uint32

//go:noinline
func work(n int) {
	for i := 0; i < n*1000; i++ {
		sink = sink*3 + 1
	}
}

//go:noinline
func alpha(n int) {
	work(5 * n)
	sink++
}

//go:noinline
func gamma_(n int) {
	work(3 * n)
	sink++
}

//go:noinline
func beta(n int) {
	gamma_(n)
	sink += 2
}

//go:noinline
func delta(n int) {
	work(2 * n)
	sink += 3
}

func cpuMs() int64 {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return (used.Utime.Nano() + used.Stime.Nano()) / 1e6
}

//go:noinline
func run(ms int64) {
	begin, n := cpuMs(), 40
	for now := begin; now-begin < ms; {
		alpha(n)
		beta(n)
		delta(n)
		before := now
		now = cpuMs()
		if now-before < 25 {
			n *= 2
		}
	}
	sink += 4
}

func main() {
	ms := 5000
	if len(os.Args) > 1 {
		ms, _ = strconv.Atoi(os.Args[1])
	}
	run(int64(ms))
}
