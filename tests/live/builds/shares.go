// As shares.c.
package main

import (
	"os"
	"strconv"
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

//go:noinline
func run(rounds int) {
	for i := 0; i < rounds; i++ {
		alpha(2500)
		beta(2500)
		delta(2500)
	}
	sink += 4
}

func main() {
	rounds := 100
	if len(os.Args) > 1 {
		rounds, _ = strconv.Atoi(os.Args[1])
	}
	run(rounds)
}
