// Kubernetes' API server with an etcd of its own, until it is ended.
//
// Arguments: a folder for etcd's files, the URL that etcd listens on, and the options of kube-apiserver.
package main

import (
	"log"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	address, err := url.Parse(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	settings := embed.NewConfig()
	settings.Dir = os.Args[1]
	settings.LogLevel = "error"
	settings.UnsafeNoFsync = true
	settings.ListenClientUrls = []url.URL{*address}
	settings.AdvertiseClientUrls = settings.ListenClientUrls
	// One member, which no other talks to: any free port.
	settings.ListenPeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	store, err := embed.StartEtcd(settings)
	if err != nil {
		log.Fatal(err)
	}
	<-store.Server.ReadyNotify()
	server := app.NewAPIServerCommand()
	server.SetArgs(append(os.Args[3:], "--etcd-servers="+address.String()))
	os.Exit(cli.Run(server))
}
