// A server reads a stream of QUIC, and a client sends for five seconds on it.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"os"
	"time"

	"github.com/quic-go/quic-go"
)

const protocol = "count"

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func identity() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	about := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, &about, &about, &key.PublicKey, key)
	check(err)
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key}
}

func serve() {
	settings := &tls.Config{Certificates: []tls.Certificate{identity()}, NextProtos: []string{protocol}}
	listener, err := quic.ListenAddr(":4433", settings, nil)
	check(err)
	fmt.Println("ready")
	for {
		connection, err := listener.Accept(context.Background())
		check(err)
		stream, err := connection.AcceptUniStream(context.Background())
		check(err)
		count, err := io.Copy(io.Discard, stream)
		check(err)
		fmt.Println("read", count)
	}
}

func main() {
	if os.Args[1] == "serve" {
		serve()
	}
	settings := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}
	connection, err := quic.DialAddr(context.Background(), os.Args[1]+":4433", settings, nil)
	check(err)
	stream, err := connection.OpenUniStream()
	check(err)
	start, sent := time.Now(), 0
	for time.Since(start) < 5*time.Second {
		count, err := stream.Write(make([]byte, 65536))
		check(err)
		sent += count
	}
	check(stream.Close())
	<-time.After(time.Second)
	fmt.Println("sent", sent)
}
