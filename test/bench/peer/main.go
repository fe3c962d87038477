// Measures what the policies of go-resiliency cost: the time per call of a
// function that does next to nothing, as test/bench/bench_guard.cpp measures it
// for guards.
package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/eapache/go-resiliency/breaker"
	"github.com/eapache/go-resiliency/deadline"
	"github.com/eapache/go-resiliency/retrier"
	"github.com/eapache/go-resiliency/semaphore"
)

const (
	rounds = 7
	calls  = 300_000
)

type counter struct {
	n int
	_ [56]byte
}

//go:noinline
func (c *counter) work() error {
	c.n++
	return nil
}

type subject struct {
	name string
	run  func(work func() error) error
}

func subjects() []subject {
	b := breaker.New(5, 1, 10*time.Second)
	d := deadline.New(10 * time.Second)
	r := retrier.New(retrier.ExponentialBackoff(2, 10*time.Millisecond), nil)
	s := semaphore.New(1000, time.Second)
	held := func(work func() error) error {
		if err := s.Acquire(); err != nil {
			return err
		}
		defer s.Release()
		return work()
	}
	return []subject{
		{"the function alone", func(work func() error) error { return work() }},
		{"deadline", func(work func() error) error {
			return d.Run(func(<-chan struct{}) error { return work() })
		}},
		{"retrier", func(work func() error) error { return r.Run(work) }},
		{"breaker", func(work func() error) error { return b.Run(work) }},
		{"semaphore", held},
		{"deadline, retrier, breaker, semaphore", func(work func() error) error {
			return d.Run(func(<-chan struct{}) error {
				return r.Run(func() error {
					return b.Run(func() error { return held(work) })
				})
			})
		}},
	}
}

// Of all goroutines together.
func nsPerCall(x subject, threads int) float64 {
	var all sync.WaitGroup
	begun := time.Now()
	for t := 0; t < threads; t++ {
		all.Add(1)
		go func() {
			defer all.Done()
			var c counter
			for i := 0; i < calls/threads; i++ {
				if x.run(c.work) != nil {
					os.Exit(1)
				}
			}
		}()
	}
	all.Wait()
	return float64(time.Since(begun).Nanoseconds()) / calls
}

func main() {
	fmt.Printf("| %-38s | %9s | %9s | %9s |\n| --- | --- | --- | --- |\n",
		"go-resiliency", "1", "2", "4")
	for _, x := range subjects() {
		fmt.Printf("| %-38s |", x.name)
		for _, threads := range []int{1, 2, 4} {
			best := nsPerCall(x, threads)
			for i := 1; i < rounds; i++ {
				if ns := nsPerCall(x, threads); ns < best {
					best = ns
				}
			}
			fmt.Printf(" %6.0f ns |", best)
		}
		fmt.Println()
	}
}
