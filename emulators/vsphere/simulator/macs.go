package main

import (
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// regenerate has a clone get a MAC address of its own where its caller changes no network card, as
// vCenter does. What a caller sends back of the template's card is taken as it is sent: ansible's
// issue 64774, where each clone then shares the template's address.
func regenerate(vm *simulator.VirtualMachine, spec *types.VirtualMachineCloneSpec) {
	if spec.Config == nil {
		spec.Config = &types.VirtualMachineConfigSpec{}
	}
	for _, change := range spec.Config.DeviceChange {
		if _, ok := change.GetVirtualDeviceConfigSpec().Device.(types.BaseVirtualEthernetCard); ok {
			return
		}
	}
	for _, device := range vm.Config.Hardware.Device {
		card, ok := device.(*types.VirtualE1000)
		if !ok {
			continue
		}
		own := *card
		own.MacAddress = ""
		spec.Config.DeviceChange = append(spec.Config.DeviceChange, &types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: &own,
		})
	}
}

// checkMAC refuses to switch a machine on whose address another has that is on. vCenter only raises
// an alarm (VmMacConflictEvent), and one of the two is not reached: a refusal is the same sooner.
func checkMAC(ctx *simulator.Context, vm *simulator.VirtualMachine) types.BaseMethodFault {
	for _, object := range ctx.Map.All("VirtualMachine") {
		other := object.(*simulator.VirtualMachine)
		if other.Self == vm.Self || other.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
			continue
		}
		for mac := range macs(vm) {
			if macs(other)[mac] {
				return &types.GenericVmConfigFault{
					Reason: "the MAC address " + mac + " is in conflict with that of " + other.Name,
				}
			}
		}
	}
	return nil
}

func macs(vm *simulator.VirtualMachine) map[string]bool {
	found := map[string]bool{}
	for _, device := range vm.Config.Hardware.Device {
		if card, ok := device.(types.BaseVirtualEthernetCard); ok {
			found[strings.ToLower(card.GetVirtualEthernetCard().MacAddress)] = true
		}
	}
	return found
}
