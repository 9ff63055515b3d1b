// An emulated vCenter: VMware's own simulator, with an inventory for disk benchmarks.
//
// It prints a line of JSON for every virtual machine whenever something of it has changed, and reads
// orders, a line of JSON each, until its input closes. What stands behind a machine is up to whoever
// reads that: this program knows no lab.
package main

import (
	"crypto/tls"
	"flag"
	"io"
	"log"
	"net/url"
	"os"

	"github.com/vmware/govmomi/simulator"
)

func main() {
	log.SetFlags(0)
	listen := flag.String("listen", "127.0.0.2:0", "address and port")
	certificate := flag.String("certificate", "", "PEM file: the server's certificate, then its key")
	user := flag.String("user", "", "who may log in; the password comes by VSPHERE_PASSWORD")
	delay := flag.Int("delay", 0, "milliseconds that each call takes at least")
	flag.Parse()

	model := simulator.VPX()
	model.Datacenter, model.Cluster, model.ClusterHost, model.Host = 1, 1, 2, 0
	model.Datastore = 1 + len(datastores)
	model.Machine, model.Autostart = 2, false
	model.DelayConfig.Delay = *delay
	model.ServiceContent.About.ApiVersion = "8.0.3.0"
	if err := model.Create(); err != nil {
		log.Fatal(err)
	}
	defer model.Remove()

	pair, err := tls.LoadX509KeyPair(*certificate, *certificate)
	if err != nil {
		log.Fatal(err)
	}
	service := model.Service
	service.RegisterEndpoints = true
	service.Listen = &url.URL{
		Host: *listen, User: url.UserPassword(*user, os.Getenv("VSPHERE_PASSWORD")),
	}
	service.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}

	out := newPrinter(os.Stdout)
	furnish(service.Context)
	may := &rights{}
	keepRules(service.Context, may)
	lagging(service.Context)
	newWatch(service.Context, out)
	server := service.NewServer()
	defer server.Close()
	// The simulator logs each fault that it answers with; whoever asked for it is told already.
	log.SetOutput(io.Discard)
	out.print(map[string]any{"listening": server.URL.Host})
	obey(service, may, os.Stdin, out)
}
