// A program of the documentation's pictures: packs JSON, at the level of its argument.
package main

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"strconv"
)

type order struct {
	ID    int      `json:"id"`
	Name  string   `json:"name"`
	Price float64  `json:"price"`
	Tags  []string `json:"tags"`
}

func orders(n int) []order {
	made := make([]order, n)
	for i := range made {
		made[i] = order{i, "order of customer " + strconv.Itoa(i*7919%100003), float64(i%977) / 8, []string{"new", "paid", strconv.Itoa(i % 31)}}
	}
	return made
}

func pack(all []order, level int) error {
	packed, err := gzip.NewWriterLevel(io.Discard, level)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(packed).Encode(all); err != nil {
		return err
	}
	return packed.Close()
}

func main() {
	level, err := strconv.Atoi(os.Args[1])
	all := orders(20000)
	for err == nil {
		err = pack(all, level)
	}
	panic(err)
}
