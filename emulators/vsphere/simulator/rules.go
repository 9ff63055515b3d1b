package main

import (
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// keepRules has vSphere's rules kept that the simulator does not know: notes given to a clone are
// the clone's, and the template's vApp options are, too; a policy with data services is applied to no
// clone; a thick disk needs its room, a disk hangs on a controller that is there, and unit 7 of a SCSI
// controller is its own.
func keepRules(ctx *simulator.Context, may *rights) {
	authorize(ctx, may)
	notes := &noteTaker{notes: map[string]string{}, options: map[string]types.BaseVmConfigInfo{}}
	ctx.Map.AddHandler(notes)
	ctx.Map.Handler = func(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
		if fault := may.check(method); fault != nil {
			return nil, fault
		}
		vm, ok := ctx.Map.Get(method.This).(*simulator.VirtualMachine)
		if !ok {
			return nil, nil
		}
		switch body := method.Body.(type) {
		case *types.CloneVM_Task:
			if fault := checkPolicies(&body.Spec); fault != nil {
				return nil, fault
			}
			notes.remember(body.Name, body.Spec.Config, vm.Config.VAppConfig)
			regenerate(vm, &body.Spec)
		case *types.PowerOnVM_Task:
			return nil, checkMAC(ctx, vm)
		case *types.ReconfigVM_Task:
			if removed := body.Spec.VAppConfigRemoved; removed != nil && *removed {
				notes.withoutOptions(vm)
			}
			return nil, checkDisks(ctx, vm, body.Spec.DeviceChange)
		}
		return nil, nil
	}
}

// checkPolicies refuses a clone that is to have a policy with data services: "Changing or applying VM
// Storage Policies with Data Service capabilities during clone operations is disallowed"
// (cluster-api-provider-vsphere 1146; with which fault is our choice).
func checkPolicies(spec *types.VirtualMachineCloneSpec) types.BaseMethodFault {
	for _, profile := range spec.Location.Profile {
		if known, ok := profile.(*types.VirtualMachineDefinedProfileSpec); ok && known.ProfileId == encrypting {
			return &types.InvalidArgument{InvalidProperty: "spec.location.profile"}
		}
	}
	return nil
}

// noteTaker gives clones the notes they were made with and the vApp options of their template, as
// soon as they are there. What a clone's own configuration says of those options is not looked at
// (govmomi 2201).
type noteTaker struct {
	lock    sync.Mutex
	notes   map[string]string
	options map[string]types.BaseVmConfigInfo
}

// Reference, PutObject, UpdateObject and RemoveObject are simulator.RegisterObject.
func (*noteTaker) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "NoteTaker", Value: "note-taker"}
}

func (n *noteTaker) PutObject(_ *simulator.Context, object mo.Reference) {
	if vm, ok := object.(*simulator.VirtualMachine); ok {
		n.give(&vm.VirtualMachine)
	}
}

func (n *noteTaker) UpdateObject(_ *simulator.Context, object mo.Reference, _ []types.PropertyChange) {
	if vm, ok := object.(*mo.VirtualMachine); ok {
		n.give(vm)
	}
}

func (*noteTaker) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}

func (n *noteTaker) remember(
	name string, config *types.VirtualMachineConfigSpec, options types.BaseVmConfigInfo,
) {
	if config != nil {
		n.lock.Lock()
		defer n.lock.Unlock()
		n.notes[name], n.options[name] = config.Annotation, options
	}
}

func (n *noteTaker) withoutOptions(vm *simulator.VirtualMachine) {
	n.lock.Lock()
	defer n.lock.Unlock()
	delete(n.options, vm.Name)
	vm.Config.VAppConfig = nil
}

func (n *noteTaker) give(vm *mo.VirtualMachine) {
	n.lock.Lock()
	defer n.lock.Unlock()
	if vm.Config != nil && vm.Config.VAppConfig == nil {
		vm.Config.VAppConfig = n.options[vm.Name]
	}
	if vm.Config != nil && vm.Config.Annotation == "" {
		vm.Config.Annotation = n.notes[vm.Name]
		vm.Summary.Config.Annotation = n.notes[vm.Name]
	}
}

func checkDisks(
	ctx *simulator.Context, vm *simulator.VirtualMachine, changes []types.BaseVirtualDeviceConfigSpec,
) types.BaseMethodFault {
	controllers := map[int32]bool{}
	for _, device := range vm.Config.Hardware.Device {
		if _, ok := device.(types.BaseVirtualController); ok {
			_, scsi := device.(types.BaseVirtualSCSIController)
			controllers[device.GetVirtualDevice().Key] = scsi
		}
	}
	for _, change := range changes {
		spec := change.GetVirtualDeviceConfigSpec()
		disk, ok := spec.Device.(*types.VirtualDisk)
		if !ok || spec.Operation != types.VirtualDeviceConfigSpecOperationAdd {
			continue
		}
		scsi, there := controllers[disk.ControllerKey]
		if !there && disk.ControllerKey > 0 || scsi && disk.UnitNumber != nil && *disk.UnitNumber == 7 {
			return &types.InvalidDeviceSpec{InvalidVmConfig: types.InvalidVmConfig{
				Property: "virtualDeviceSpec.device.controllerKey",
			}}
		}
		backing, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
		if ok && backing.Uuid == "" {
			backing.Uuid = newDiskUUID()
		}
		if ok && backing.Datastore != nil {
			if fault := asSold(ctx, backing); fault != nil {
				return fault
			}
		}
		if !ok || backing.Datastore == nil || backing.ThinProvisioned != nil && *backing.ThinProvisioned {
			continue
		}
		on, ok := ctx.Map.Get(*backing.Datastore).(*simulator.Datastore)
		if ok && disk.CapacityInKB*1024 > on.Summary.FreeSpace {
			return &types.NoDiskSpace{
				FileFault: types.FileFault{File: backing.FileName}, Datastore: on.Name,
			}
		}
	}
	return nil
}

// accelerated: the hosts have VAAI for NAS.
var accelerated atomic.Bool

// accelerate has the hosts say whether they have VAAI for the datastore over NFS.
func accelerate(ctx *simulator.Context, on bool) {
	accelerated.Store(on)
	support := types.FileSystemMountInfoVStorageSupportStatusVStorageUnsupported
	if on {
		support = types.FileSystemMountInfoVStorageSupportStatusVStorageSupported
	}
	for _, object := range ctx.Map.All("HostSystem") {
		volume := types.HostNasVolume{
			HostFileSystemVolume: types.HostFileSystemVolume{Type: "NFS", Name: "nfs"},
			RemoteHost:           "filer.example", RemotePath: "/export/nfs",
		}
		told := &types.HostFileSystemVolumeInfo{MountInfo: []types.HostFileSystemMountInfo{{
			MountInfo: types.HostMountInfo{AccessMode: "readWrite"}, Volume: &volume,
			VStorageSupport: string(support),
		}}}
		ctx.Map.AtomicUpdate(ctx, object.(*simulator.HostSystem), []types.PropertyChange{
			{Name: "config.fileSystemVolume", Val: told},
		})
	}
}

// asSold is what a kind of datastore makes of how a disk is to be provisioned: NFS without VAAI for
// NAS refuses what is not thin (with which fault is our choice), and vSAN tells of every disk that it
// is thin, as its policy decides.
func asSold(ctx *simulator.Context, backing *types.VirtualDiskFlatVer2BackingInfo) types.BaseMethodFault {
	on, ok := ctx.Map.Get(*backing.Datastore).(*simulator.Datastore)
	if !ok {
		return nil
	}
	thin := backing.ThinProvisioned != nil && *backing.ThinProvisioned
	switch {
	case on.Summary.Type == "NFS" && !accelerated.Load() && !thin && backing.ThinProvisioned != nil:
		return &types.CannotCreateFile{FileFault: types.FileFault{File: backing.FileName}}
	case on.Summary.Type == "vsan":
		backing.ThinProvisioned, backing.EagerlyScrub = types.NewBool(true), nil
	}
	return nil
}

// newDiskUUID is an identifier that no disk had before: the simulator's own follows from the file's
// name, which the next disk on the same place has again.
func newDiskUUID() string {
	id := make([]byte, 16)
	rand.Read(id)
	return fmt.Sprintf("6000c29%x-%x-%x-%x-%x", id[0]&15, id[4:6], id[6:8], id[8:10], id[10:])
}
