// Waits of known length for a mutex, in two functions that hold it.
//
//	go_locks [RATE]   reads lines: "go N" makes N waits below each of main.holdsLong and main.holdsShort, and prints "NAME WAITS NS" of
//	                  each; "end" ends it. RATE: of its own profile of mutexes, one wait in that many
//
// A wait counts from before Lock to before Unlock, by the clock of the process.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var (
	mutex  sync.Mutex
	asked  int64 // when the other goroutine called Lock; 0: not yet
	origin = time.Now()
)

func now() int64 { return int64(time.Since(origin)) + 1 }

// Returns how long the other goroutine has waited.
func hold(ready chan<- bool, d time.Duration) int64 {
	mutex.Lock()
	atomic.StoreInt64(&asked, 0)
	ready <- true
	for atomic.LoadInt64(&asked) == 0 {
		time.Sleep(50 * time.Microsecond)
	}
	time.Sleep(d)
	waited := now() - atomic.LoadInt64(&asked)
	mutex.Unlock()
	return waited
}

//go:noinline
func holdsLong(ready chan<- bool) int64 { return hold(ready, 8*time.Millisecond) }

//go:noinline
func holdsShort(ready chan<- bool) int64 { return hold(ready, 4*time.Millisecond) }

//go:noinline
func waits() {
	atomic.StoreInt64(&asked, now())
	mutex.Lock()
	mutex.Unlock()
}

func play(n int, name string, holds func(chan<- bool) int64) {
	var sum int64
	ready := make(chan bool)
	for i := 0; i < n; i++ {
		done := make(chan int64)
		go func() { done <- holds(ready) }()
		<-ready
		waits()
		sum += <-done
	}
	fmt.Println(name, n, sum)
}

func main() {
	if len(os.Args) > 1 {
		rate, _ := strconv.Atoi(os.Args[1])
		runtime.SetMutexProfileFraction(rate)
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan() && in.Text() != "end"; {
		n, _ := strconv.Atoi(strings.TrimPrefix(in.Text(), "go "))
		play(n, "holdsLong", holdsLong)
		play(n, "holdsShort", holdsShort)
	}
}
