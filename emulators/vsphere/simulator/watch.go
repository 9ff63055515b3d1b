package main

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// disk is a virtual disk of a machine as it stands now.
type disk struct {
	UUID      string `json:"uuid"`
	Bytes     int64  `json:"bytes"`
	Datastore string `json:"datastore"`
	IOPSLimit int64  `json:"iops_limit"`
	File      string `json:"file"`
}

// machine is what is told of a virtual machine.
type machine struct {
	ID    string            `json:"vm"`
	Name  string            `json:"name"`
	On    bool              `json:"on"`
	Gone  bool              `json:"gone"`
	OVF   bool              `json:"ovf"`
	Extra map[string]string `json:"extra"`
	Disks []disk            `json:"disks"`
}

// printer writes lines of JSON, each whole.
type printer struct {
	lock sync.Mutex
	to   *json.Encoder
}

func newPrinter(to io.Writer) *printer { return &printer{to: json.NewEncoder(to)} }

func (p *printer) print(what any) {
	p.lock.Lock()
	defer p.lock.Unlock()
	_ = p.to.Encode(what)
}

// watch tells the state of each machine after it changed. It is told of changes while the machine is
// locked, so it looks later, from a goroutine of its own.
type watch struct {
	ctx     *simulator.Context
	out     *printer
	lock    sync.Mutex
	pending map[types.ManagedObjectReference]bool
	wake    chan struct{}
	told    map[types.ManagedObjectReference]string
}

func newWatch(ctx *simulator.Context, out *printer) *watch {
	w := &watch{
		ctx: ctx, out: out, wake: make(chan struct{}, 1),
		pending: map[types.ManagedObjectReference]bool{},
		told:    map[types.ManagedObjectReference]string{},
	}
	ctx.Map.AddHandler(w)
	go w.run()
	return w
}

// Reference, PutObject, UpdateObject and RemoveObject are simulator.RegisterObject.
func (*watch) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Watch", Value: "watch"}
}

func (w *watch) PutObject(_ *simulator.Context, object mo.Reference) { w.note(object.Reference()) }

func (w *watch) UpdateObject(_ *simulator.Context, object mo.Reference, _ []types.PropertyChange) {
	w.note(object.Reference())
}

func (w *watch) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) { w.note(ref) }

func (w *watch) note(ref types.ManagedObjectReference) {
	if ref.Type != "VirtualMachine" {
		return
	}
	w.lock.Lock()
	w.pending[ref] = true
	w.lock.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watch) run() {
	for range w.wake {
		w.lock.Lock()
		pending := w.pending
		w.pending = map[types.ManagedObjectReference]bool{}
		w.lock.Unlock()
		for ref := range pending {
			w.tell(ref)
		}
	}
}

func (w *watch) tell(ref types.ManagedObjectReference) {
	vm, there := w.ctx.Map.Get(ref).(*simulator.VirtualMachine)
	now := machine{ID: ref.Value, Gone: !there}
	ctx := contextOf(w.ctx)
	if there {
		ctx.WithLock(vm, func() { now = described(ctx, vm) })
	}
	told, err := json.Marshal(now)
	if err != nil || w.told[ref] == string(told) {
		return
	}
	w.told[ref] = string(told)
	w.out.print(now)
}

// contextOf makes a context of its own: a lock that another holds already would be let through.
func contextOf(other *simulator.Context) *simulator.Context {
	own := *other
	return &own
}

func described(ctx *simulator.Context, vm *simulator.VirtualMachine) machine {
	now := machine{
		ID: vm.Self.Value, Name: vm.Name, Extra: map[string]string{}, Disks: []disk{},
		On: vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn,
	}
	if options := vm.Config.VAppConfig; options != nil {
		now.OVF = len(options.GetVmConfigInfo().OvfEnvironmentTransport) > 0
	}
	for _, option := range vm.Config.ExtraConfig {
		value := option.GetOptionValue()
		if text, ok := value.Value.(string); ok {
			now.Extra[value.Key] = text
		}
	}
	for _, device := range vm.Config.Hardware.Device {
		found, ok := device.(*types.VirtualDisk)
		if !ok {
			continue
		}
		backing, ok := found.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
		if !ok {
			continue
		}
		told := disk{
			UUID: backing.Uuid, Bytes: found.CapacityInBytes, File: backing.FileName, IOPSLimit: -1,
		}
		if told.Bytes == 0 {
			told.Bytes = found.CapacityInKB * 1024
		}
		if limit := found.StorageIOAllocation; limit != nil && limit.Limit != nil {
			told.IOPSLimit = *limit.Limit
		}
		if backing.Datastore != nil {
			if on, ok := ctx.Map.Get(*backing.Datastore).(*simulator.Datastore); ok {
				told.Datastore = on.Name
			}
		}
		now.Disks = append(now.Disks, told)
	}
	return now
}
