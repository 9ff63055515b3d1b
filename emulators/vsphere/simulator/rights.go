package main

import (
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// rights are the privileges that the one user has, by kind of object; nil is an administrator's. Its
// table of what a call needs is its own: it proves the list that diskbench prints ("vSphere Web
// Services API" reference 8.0, "Required Privileges"; "vSphere Security", "Required Privileges for
// Common Tasks").
type rights struct {
	lock    sync.Mutex
	granted map[string][]string
}

// need is a privilege on an object of a kind.
type need struct {
	kind      string
	object    types.ManagedObjectReference
	privilege string
}

func (r *rights) grant(granted map[string][]string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.granted = granted
}

func (r *rights) has(kind, privilege string) bool {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.granted == nil || slices.Contains(r.granted[kind], privilege)
}

// check is the fault of a call that needs a privilege which the user has not.
func (r *rights) check(method *simulator.Method) types.BaseMethodFault {
	for _, one := range needs(method) {
		if !r.has(one.kind, one.privilege) {
			return &types.NoPermission{Object: &one.object, PrivilegeId: one.privilege}
		}
	}
	return nil
}

func needs(method *simulator.Method) []need {
	found := []need{}
	on := func(kind string, object types.ManagedObjectReference, names ...string) {
		for _, name := range names {
			found = append(found, need{kind, object, name})
		}
	}
	this := method.This
	switch body := method.Body.(type) {
	case *types.CloneVM_Task:
		on("template", this, "VirtualMachine.Provisioning.DeployTemplate")
		on("folder", body.Folder, "VirtualMachine.Inventory.CreateFromExisting")
		if pool := body.Spec.Location.Pool; pool != nil {
			on("resource pool", *pool, "Resource.AssignVMToPool")
		}
		if store := body.Spec.Location.Datastore; store != nil {
			on("datastore", *store, "Datastore.AllocateSpace")
		}
		if body.Spec.Config != nil {
			found = append(found, ofConfig(body.Folder, body.Spec.Config)...)
		}
	case *types.ReconfigVM_Task:
		found = append(found, ofConfig(this, &body.Spec)...)
	case *types.SetField:
		on("folder", body.Entity, "Global.SetCustomField")
	case *types.PowerOnVM_Task:
		on("folder", this, "VirtualMachine.Interact.PowerOn")
	case *types.PowerOffVM_Task:
		on("folder", this, "VirtualMachine.Interact.PowerOff")
	case *types.Destroy_Task:
		on("folder", this, "VirtualMachine.Inventory.Delete")
	}
	return found
}

// ofConfig are the privileges on a machine, or on the folder it is made in, that its new
// configuration needs.
func ofConfig(machine types.ManagedObjectReference, spec *types.VirtualMachineConfigSpec) []need {
	found := []need{}
	config := func(name string) {
		found = append(found, need{"folder", machine, "VirtualMachine.Config." + name})
	}
	if spec.NumCPUs != 0 {
		config("CPUCount")
	}
	if spec.MemoryMB != 0 {
		config("Memory")
	}
	if spec.Annotation != "" {
		config("Annotation")
	}
	if len(spec.ExtraConfig) > 0 {
		config("AdvancedConfig")
	}
	if spec.VAppConfigRemoved != nil {
		found = append(found, need{"folder", machine, "VApp.ApplicationConfig"})
	}
	for _, change := range spec.DeviceChange {
		one := change.GetVirtualDeviceConfigSpec()
		disk, isDisk := one.Device.(*types.VirtualDisk)
		_, isCard := one.Device.(types.BaseVirtualEthernetCard)
		switch {
		case isDisk && one.Operation == types.VirtualDeviceConfigSpecOperationAdd:
			config("AddNewDisk")
			if backing, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok && backing.Datastore != nil {
				found = append(found, need{"datastore", *backing.Datastore, "Datastore.AllocateSpace"},
					need{"datastore", *backing.Datastore, "Datastore.Browse"})
			}
		case isDisk && one.Operation == types.VirtualDeviceConfigSpecOperationRemove:
			config("RemoveDisk")
		case isDisk: // the limit of a disk that stays
			config("EditDevice")
			config("Resource")
		case isCard:
			config("EditDevice")
			found = append(found, need{"network", machine, "Network.Assign"})
		default:
			config("AddRemoveDevice")
		}
	}
	return found
}

// authorize puts it in the place of the simulator's own authorization manager.
func authorize(ctx *simulator.Context, may *rights) {
	ref := content(ctx).AuthorizationManager
	own := ctx.Map.Get(*ref).(*simulator.AuthorizationManager)
	ctx.Map.Put(&authorization{AuthorizationManager: *own, rights: may})
}

// authorization answers for the authorization manager: what the user has.
type authorization struct {
	simulator.AuthorizationManager
	rights *rights
}

// HasPrivilegeOnEntities is the method of the API.
func (a *authorization) HasPrivilegeOnEntities(
	ctx *simulator.Context, req *types.HasPrivilegeOnEntities,
) soap.HasFault {
	told := []types.EntityPrivilege{}
	for _, entity := range req.Entity {
		one := types.EntityPrivilege{Entity: entity}
		for _, id := range req.PrivId {
			one.PrivAvailability = append(one.PrivAvailability, types.PrivilegeAvailability{
				PrivId: id, IsGranted: a.rights.has(kindOf(ctx, entity), id),
			})
		}
		told = append(told, one)
	}
	return &methods.HasPrivilegeOnEntitiesBody{
		Res: &types.HasPrivilegeOnEntitiesResponse{Returnval: told},
	}
}

// kindOf is the kind of an object in the table of privileges.
func kindOf(ctx *simulator.Context, ref types.ManagedObjectReference) string {
	switch ref.Type {
	case "VirtualMachine":
		return "template"
	case "Datastore":
		return "datastore"
	case "ResourcePool", "ClusterComputeResource":
		return "resource pool"
	case "Network", "DistributedVirtualPortgroup":
		return "network"
	}
	if ref == content(ctx).RootFolder {
		return "vCenter"
	}
	return "folder"
}

// content is where everything is found from.
func content(ctx *simulator.Context) types.ServiceContent {
	ref := types.ManagedObjectReference{Type: "ServiceInstance", Value: "ServiceInstance"}
	return ctx.Map.Get(ref).(*simulator.ServiceInstance).Content
}
