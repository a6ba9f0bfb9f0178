// Allocates known amounts in functions of known structure, and states them on stdout. Each step begins once a file exists, or after a minute.
//
//	go_heap DIR [MS]
//	               DIR/start: allocates, prints NAME ALLOCATED BLOCKS IN-USE BLOCKS of each, then "ready"
//	               DIR/more: the same of "later", then "done"
//	               DIR/end: ends, MS ms later
//
// With the tag profile it writes what Go says of the same moments to DIR/first.pb.gz and DIR/second.pb.gz.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
)

var (
	kept  [][]byte
	small []*[10]int64
	sink  int
)

func inner(n int) []byte { return make([]byte, n) }

func middle(n int) []byte { return inner(n) }

func outer(n int) { kept = append(kept, middle(n)) }

//go:noinline
func keeps(n int) {
	for i := 0; i < n; i++ {
		outer(300000)
	}
}

//go:noinline
func churns(n int) {
	for i := 0; i < n; i++ {
		sink += len(inner(1000 + sink&1))
	}
}

//go:noinline
func smalls(n int) {
	for i := range small[:n] {
		small[i] = new([10]int64)
	}
}

//go:noinline
func recurses(n int) {
	if n > 0 {
		recurses(n - 1)
		return
	}
	outer(5000000)
}

//go:noinline
func later(n int) {
	for i := 0; i < n; i++ {
		outer(200000)
	}
}

func collect() {
	runtime.GC()
	runtime.GC()
}

func await(path string) {
	for i := 0; i < 6000; i++ {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func main() {
	dir := os.Args[1]
	fmt.Println("started")
	await(dir + "/start")
	kept = make([][]byte, 0, 1000)
	small = make([]*[10]int64, 300000)
	keeps(200)
	churns(100000)
	smalls(300000)
	recurses(20)
	collect()
	profile(dir + "/first.pb.gz")
	// 300000 bytes take 303104, 1000 take 1024, 5000000 take 5005312, 200000 take 204800: blocks are of sizes that Go has.
	fmt.Println("keeps", 200*303104, 200, 200*303104, 200)
	fmt.Println("churns", 100000*1024, 100000, 0, 0)
	fmt.Println("smalls", 300000*80, 300000, 300000*80, 300000)
	fmt.Println("recurses", 5005312, 1, 5005312, 1)
	fmt.Println("ready")
	await(dir + "/more")
	later(300)
	collect()
	profile(dir + "/second.pb.gz")
	fmt.Println("later", 300*204800, 300, 300*204800, 300)
	fmt.Println("done")
	await(dir + "/end")
	if len(os.Args) > 2 {
		ms, _ := strconv.Atoi(os.Args[2])
		time.Sleep(time.Duration(ms) * time.Millisecond)
	}
	runtime.KeepAlive(kept)
	runtime.KeepAlive(small)
}
