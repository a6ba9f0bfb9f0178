// Encodes and decodes small values for as many milliseconds of CPU time as its argument says: half of its time goes to memory and its collection,
// and much of that runs on the stack of the thread, called from the stack of a goroutine.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type node struct {
	Name   string
	Values []int
	Sizes  map[string]float64
	Next   *node
}

func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func round(n int) int {
	p := &node{Name: strings.Repeat("x", 20), Values: []int{5, 3, 4, 1, 2}, Sizes: map[string]float64{"a": 1.5, "b": 2.5}}
	p.Next = &node{Name: fmt.Sprintf("%d-%s", n, time.Now())}
	sort.Ints(p.Values)
	text, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	var q node
	if json.Unmarshal(text, &q) != nil {
		panic(string(text))
	}
	return len(text)
}

func once(n int) uint64 {
	sum := uint64(0)
	for i := 0; i < n; i++ {
		sum += uint64(i * i % 7)
	}
	return sum
}

func twice(n int) uint64 { return once(n) + once(n) }

// The compiler makes one function of these three.
//
//go:noinline
func spin(n int) { sink += twice(n) }

var sink uint64

func main() {
	ms, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	n := 0
	for until := time.Duration(ms) * time.Millisecond; used() < until; {
		for i := 0; i < 100; i++ {
			n += round(n)
		}
		spin(50000)
	}
	fmt.Println(n)
}
