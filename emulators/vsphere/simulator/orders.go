package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// order is one line of the input.
type order struct {
	Do        string `json:"do"`
	VM        string `json:"vm"`
	Address   string `json:"address"`
	Method    string `json:"method"`
	Fault     string `json:"fault"`
	Kind      string `json:"kind"`
	Times     int    `json:"times"`
	Skip      int    `json:"skip"`
	Datastore string `json:"datastore"`
	Free      int64  `json:"free"`
	// Granted are privileges by kind of object; null is an administrator's.
	Granted map[string][]string `json:"granted"`
}

// faults are those that can be injected by name. One that is not here is the simulator's own kind.
func fault(name string) (types.BaseMethodFault, simulator.FaultType) {
	switch name {
	case "NoDiskSpace":
		return &types.NoDiskSpace{
			FileFault: types.FileFault{File: "[nvme] diskbench/data.vmdk"}, Datastore: "nvme",
		}, simulator.FaultTypeCustom
	case "NoPermission":
		return &types.NoPermission{
			Object:      &types.ManagedObjectReference{Type: "Datacenter", Value: "datacenter-2"},
			PrivilegeId: "VirtualMachine.Provisioning.DeployTemplate",
		}, simulator.FaultTypeCustom
	case "NotAuthenticated":
		return nil, simulator.FaultTypeNotAuthenticated
	case "InsufficientResourcesFault":
		return &types.InsufficientResourcesFault{}, simulator.FaultTypeCustom
	case "TaskInProgress":
		return &types.TaskInProgress{
			Task: types.ManagedObjectReference{Type: "Task", Value: "task-1"},
		}, simulator.FaultTypeCustom
	case "HostNotConnected":
		return &types.HostNotConnected{}, simulator.FaultTypeCustom
	}
	return nil, simulator.FaultTypeGeneric
}

// obey does what the lines of `in` say until there are no more, and answers each.
func obey(service *simulator.Service, may *rights, in io.Reader, out *printer) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var given order
		if err := json.Unmarshal(lines.Bytes(), &given); err != nil {
			fmt.Fprintf(os.Stderr, "no order: %v\n", err)
			continue
		}
		if given.Do == "grant" {
			may.grant(given.Granted)
		}
		out.print(map[string]any{"done": given.Do, "answer": carryOut(service, &given)})
	}
}

func carryOut(service *simulator.Service, given *order) any {
	ctx := contextOf(service.Context)
	switch given.Do {
	case "address":
		setAddress(ctx, given.VM, given.Address)
	case "off", "on":
		if vm, ok := machineOf(ctx, given.VM); ok {
			power(ctx, vm, given.Do == "on")
		}
	case "fault":
		injected, kind := fault(given.Fault)
		service.AddFaultRule(&simulator.FaultInjectionRule{
			MethodName: given.Method, ObjectType: "*", ObjectName: "*", Probability: 1, FaultType: kind,
			Fault: injected, Message: "injected: " + given.Fault, MaxCount: given.Times,
			SkipCount: given.Skip, Enabled: true,
		})
	case "free":
		for _, object := range ctx.Map.All("Datastore") {
			if found := object.(*simulator.Datastore); found.Name == given.Datastore {
				ctx.Map.AtomicUpdate(ctx, found, []types.PropertyChange{
					{Name: "summary.freeSpace", Val: given.Free},
				})
			}
		}
	case "settle":
		seen.settle(seen.lag)
	case "lag":
		seen.settle(given.Times)
	case "template":
		becomesTemplate(ctx, given.Kind)
	case "vaai":
		accelerate(ctx, given.Times > 0)
	case "reset":
		service.ClearFaultRules()
		lag := seen.lag
		seen.settle(0)
		accelerate(ctx, false)
		becomesTemplate(ctx, "")
		for _, name := range rented(ctx) {
			if vm, ok := machineOf(ctx, name); ok {
				power(ctx, vm, false)
				destroy(ctx, vm)
			}
		}
		for _, kind := range datastores {
			carryOut(service, &order{Do: "free", Datastore: kind.name, Free: 4096 * gib})
		}
		seen.settle(lag)
	case "rented":
		return rented(ctx)
	}
	return nil
}

// rented are the machines that neither the template nor the neighbour is.
func rented(ctx *simulator.Context) []string {
	found := []string{}
	for _, object := range ctx.Map.All("VirtualMachine") {
		if vm := object.(*simulator.VirtualMachine); vm.Name != templateName && vm.Name != neighbour {
			found = append(found, vm.Self.Value)
		}
	}
	return found
}

func machineOf(ctx *simulator.Context, name string) (*simulator.VirtualMachine, bool) {
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: name}
	vm, ok := ctx.Map.Get(ref).(*simulator.VirtualMachine)
	return vm, ok
}

// power switches a machine on or off, and waits for it.
func power(ctx *simulator.Context, vm *simulator.VirtualMachine, on bool) {
	var task types.ManagedObjectReference
	if on {
		body := vm.PowerOnVMTask(ctx, &types.PowerOnVM_Task{This: vm.Self})
		task = body.(*methods.PowerOnVM_TaskBody).Res.Returnval
	} else {
		body := vm.PowerOffVMTask(ctx, &types.PowerOffVM_Task{This: vm.Self})
		task = body.(*methods.PowerOffVM_TaskBody).Res.Returnval
	}
	ctx.Map.Get(task).(*simulator.Task).Wait()
}

func destroy(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	body := vm.DestroyTask(ctx, &types.Destroy_Task{This: vm.Self})
	task := body.(*methods.Destroy_TaskBody).Res.Returnval
	ctx.Map.Get(task).(*simulator.Task).Wait()
}

// setAddress is what VMware Tools tell of a guest; an empty address is a guest without them.
func setAddress(ctx *simulator.Context, name string, address string) {
	vm, ok := machineOf(ctx, name)
	if !ok {
		return
	}
	running, nets := string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning), []types.GuestNicInfo{}
	if address != "" {
		running = string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
		nets = append(nets, types.GuestNicInfo{
			Network: "VM Network", IpAddress: []string{"fe80::250:56ff:fe00:1", address}, Connected: true,
			MacAddress: "00:50:56:00:00:01", DeviceConfigId: 4000,
		})
	}
	ctx.Map.AtomicUpdate(ctx, vm, []types.PropertyChange{
		{Name: "guest.ipAddress", Val: address},
		{Name: "guest.toolsRunningStatus", Val: running},
		{Name: "guest.net", Val: nets},
		{Name: "summary.guest.ipAddress", Val: address},
		{Name: "summary.guest.toolsRunningStatus", Val: running},
	})
}
