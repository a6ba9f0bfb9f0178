#!/usr/bin/env bash
# Go 1.19.8: runtime/pprof scales a profile of mutexes (in protobuf form) by the rate at the moment of writing, not by the rate at which its waits were
# sampled. A program that stops sampling with runtime.SetMutexProfileFraction(0) and then writes the profile gets one in which all numbers are 0; if it
# changes the rate in between, they are wrong by the ratio of the rates. The runtime counts sampled waits without their rate. (Go 1.24 scales each wait as it
# is sampled.) A reader of the runtime's own counters has to know both: src/collect/heap/go_locks.c.
# Package: golang-1.19-go and golang-1.19-src 1.19.8-2 of Debian 12.
set -eu
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
apt-get download -qq -o APT::Sandbox::User=root golang-1.19-go=1.19.8-2 golang-1.19-src=1.19.8-2 >/dev/null
for deb in ./*.deb; do dpkg-deb -x "$deb" root; done
export GOROOT=$dir/root/usr/lib/go-1.19 GOCACHE=$dir/cache GOPATH=$dir/path GOFLAGS=-mod=mod
mkdir program
cat >program/go.mod <<'GO'
module program

go 1.19
GO
cat >program/main.go <<'GO'
package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

func write(name string) {
	f, _ := os.Create(name)
	pprof.Lookup("mutex").WriteTo(f, 0)
	f.Close()
}

func main() {
	var m sync.Mutex
	runtime.SetMutexProfileFraction(1)
	for i := 0; i < 50; i++ {
		m.Lock()
		done := make(chan bool)
		go func() { m.Lock(); m.Unlock(); done <- true }()
		time.Sleep(2 * time.Millisecond)
		m.Unlock()
		<-done
	}
	write("at1")
	runtime.SetMutexProfileFraction(10)
	write("at10")
	runtime.SetMutexProfileFraction(0)
	write("at0")
}
GO
cd program
"$GOROOT/bin/go" version >out
"$GOROOT/bin/go" run .
# The number of contentions in a file.
contentions() { "$GOROOT/bin/go" tool pprof -raw "$1" 2>/dev/null | awk '/^Samples:/ { on = 1; getline; next } /^Locations/ { on = 0 } on { n += $1 } END { print n + 0 }'; }
one=$(contentions at1)
{
	[ "$one" -ge 40 ] && [ "$one" -le 100 ] && echo "sampled at 1, written at 1: every wait"
	[ "$(contentions at10)" = $((10 * one)) ] && echo "written at 10: ten times as many"
	echo "written at 0: $(contentions at0)"
} >>out || true
cat out
[ "$(cat out)" = "go version go1.19.8 linux/amd64
sampled at 1, written at 1: every wait
written at 10: ten times as many
written at 0: 0" ]
