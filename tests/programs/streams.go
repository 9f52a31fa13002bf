// Four goroutines send for five seconds each; the server counts what it reads.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

func serve() {
	listener, err := net.Listen("tcp", ":5001")
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	for {
		connection, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			count, _ := io.Copy(io.Discard, connection)
			fmt.Println("read", count)
			connection.Close()
		}()
	}
}

func send(to string, start time.Time) (sent int) {
	connection, err := net.Dial("tcp", to+":5001")
	if err != nil {
		panic(err)
	}
	defer connection.Close()
	buffer := make([]byte, 65536)
	for time.Since(start) < 5*time.Second {
		count, err := connection.Write(buffer)
		sent += count
		if err != nil {
			panic(err)
		}
	}
	return sent
}

func main() {
	if os.Args[1] == "serve" {
		serve()
	}
	start := time.Now()
	var all sync.WaitGroup
	for number := 0; number < 4; number++ {
		all.Add(1)
		go func() {
			defer all.Done()
			fmt.Println("goroutine", number, "sent", send(os.Args[1], start))
		}()
	}
	all.Wait()
	fmt.Println("took", time.Since(start))
}
