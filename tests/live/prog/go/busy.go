// Goroutines that call, grow their stacks, are preempted, allocate, ask for the time, write, and wait: what a Go program's threads
// do. Build with `-tags c` to call C and be called back by it. With an argument it says instead what Go's runtime knows of each 61st
// byte of its code: offset in the file, innermost function, file:line.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"
)

type shape interface{ area(n int) int }
type square struct{ side int }

func (s *square) area(n int) int { return s.side*n + leaf(n) }

func leaf(n int) int { return inner(n) + 1 }
func inner(n int) int {
	if n > 1<<40 {
		panic("large")
	}
	return n * 3
}

func apply[A, B any](in []A, f func(A) B) []B {
	out := make([]B, 0, len(in))
	for _, v := range in {
		out = append(out, f(v))
	}
	return out
}

//go:noinline
func deep(n int, s shape) int {
	var room [64]int
	if n == 0 {
		return s.area(n)
	}
	room[n%64] = deep(n-1, s)
	return room[n%64] + n
}

//go:noinline
func words(n int) int {
	texts := apply([]int{n, n + 1, n + 2}, func(i int) string { return fmt.Sprint(leaf(i)) })
	sort.Strings(texts)
	return len(strings.Join(texts, ","))
}

//go:noinline
func spin(n int) (sum int) {
	for i := 0; i < n; i++ {
		sum += i * i
	}
	return
}

//go:noinline
func recovers(n int, s *square) (sum int) {
	defer func() {
		if recover() != nil {
			sum = n
		}
	}()
	if n%2 == 0 {
		s = nil
	}
	return s.side
}

func worker(wait *sync.WaitGroup, in <-chan int, out chan<- int) {
	defer wait.Done()
	s := &square{side: 7}
	for n := range in {
		sum := words(n) + spin(20000) + recovers(n, s)
		done := make(chan int)
		go func() { done <- deep(200, s) }() // a new stack has to grow
		sum += <-done
		start := time.Now()
		for i := 0; i < 50; i++ {
			sum += int(time.Since(start))
		}
		sum += foreign(n)
		fmt.Fprintln(null, sum)
		out <- sum
	}
}

func describeCode() {
	maps, _ := os.ReadFile("/proc/self/maps")
	self, _ := os.Readlink("/proc/self/exe")
	for _, line := range strings.Split(string(maps), "\n") {
		var from, to, offset uintptr
		var flags string
		fmt.Sscanf(line, "%x-%x %s %x", &from, &to, &flags, &offset)
		if flags != "r-xp" || !strings.HasSuffix(line, self) {
			continue
		}
		for pc := from; pc < to; pc += 61 {
			if f := runtime.FuncForPC(pc); f != nil {
				file, line := f.FileLine(pc)
				fmt.Printf("%x\t%s\t%s:%d\n", pc-from+offset, f.Name(), file, line)
			}
		}
	}
}

var null *os.File

func main() {
	if len(os.Args) > 1 {
		describeCode()
		return
	}
	null, _ = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	in, out := make(chan int), make(chan int)
	var wait sync.WaitGroup
	for i := 0; i < 3; i++ {
		wait.Add(1)
		go worker(&wait, in, out)
	}
	go func() {
		for {
			runtime.GC()
			time.Sleep(3 * time.Millisecond)
		}
	}()
	go func() {
		for n := 0; ; n++ {
			in <- n
		}
	}()
	fmt.Println("ready")
	end := time.Now().Add(60 * time.Second)
	for time.Now().Before(end) {
		<-out
	}
}
