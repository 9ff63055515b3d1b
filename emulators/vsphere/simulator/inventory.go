package main

import (
	"fmt"
	"slices"
	"strings"

	pbm "github.com/vmware/govmomi/pbm/simulator"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	templateName = "debian-12"
	neighbour    = "neighbour"
	gib          = int64(1) << 30
)

// datastore is one that disks can be measured on, and what stands behind it.
type datastore struct {
	name      string
	fs        string
	lun       string
	vendor    string
	model     string
	ssd       bool
	local     bool
	paths     int
	policy    string
	transport types.BaseHostTargetTransport
}

// The datastores of two published comparisons: an iSCSI filer, a SATA SSD, an NVMe SSD, and a SAN
// with two paths; and one over NFS, which has no LUN.
var datastores = []datastore{
	{name: "freenas", fs: "VMFS", lun: "naa.6589cfc000000freenas", vendor: "FreeNAS", model: "iSCSI Disk",
		paths: 1, policy: "VMW_PSP_MRU", transport: &types.HostInternetScsiTargetTransport{}},
	{name: "sata", fs: "VMFS", lun: "t10.ATA_____Crucial_CT1024M550SSD1", vendor: "ATA",
		model: "Crucial_CT1024M5", ssd: true, local: true, paths: 1, policy: "VMW_PSP_FIXED",
		transport: &types.HostSerialAttachedTargetTransport{}},
	{name: "nvme", fs: "VMFS", lun: "t10.NVMe____Samsung_SSD_960_PRO_2TB", vendor: "NVMe",
		model: "Samsung SSD 960 ", ssd: true, local: true, paths: 1, policy: "VMW_PSP_FIXED",
		transport: &types.HostPcieTargetTransport{}},
	{name: "san", fs: "VMFS", lun: "naa.600144f00000nexenta", vendor: "NEXENTA", model: "COMSTAR",
		paths: 2, policy: "VMW_PSP_RR", transport: &types.HostInternetScsiTargetTransport{}},
	{name: "nfs", fs: "NFS"},
	{name: "vsan", fs: "vsan"},
}

// encrypting is the policy of the simulator's that has a data service: "VM Encryption Policy".
const encrypting = pbm.DefaultEncryptionProfileID

// becomesTemplate makes of the template one of a kind: "vapp" is deployed from an OVF with properties,
// as Ubuntu's cloud image is, "encrypted" and "vtpm" are what their names say; "" is a plain one.
func becomesTemplate(ctx *simulator.Context, kind string) {
	for _, object := range ctx.Map.All("VirtualMachine") {
		vm := object.(*simulator.VirtualMachine)
		if vm.Name != templateName {
			continue
		}
		devices := slices.DeleteFunc(slices.Clone(vm.Config.Hardware.Device), func(one types.BaseVirtualDevice) bool {
			_, tpm := one.(*types.VirtualTPM)
			return tpm
		})
		vm.Config.VAppConfig, vm.Config.KeyId = nil, nil
		switch kind {
		case "vapp":
			vm.Config.VAppConfig = &types.VmConfigInfo{
				Property: []types.VAppPropertyInfo{{
					Key: 1, Id: "user-data", Type: "string", UserConfigurable: types.NewBool(true),
				}},
				OvfEnvironmentTransport: []string{"iso"},
			}
		case "encrypted":
			vm.Config.KeyId = &types.CryptoKeyId{
				KeyId: "1", ProviderId: &types.KeyProviderId{Id: "native"},
			}
		case "vtpm":
			devices = append(devices, &types.VirtualTPM{VirtualDevice: types.VirtualDevice{Key: 11000}})
		}
		vm.Config.Hardware.Device = devices
	}
}

// addAttributes defines custom attributes: of machines, of any object, and of hosts.
func addAttributes(ctx *simulator.Context) {
	ref := content(ctx).CustomFieldsManager
	manager := ctx.Map.Get(*ref).(*simulator.CustomFieldsManager)
	for key, one := range [][2]string{{"cost-center", "VirtualMachine"}, {"team", ""}, {"rack", "HostSystem"}} {
		manager.Field = append(manager.Field, types.CustomFieldDef{
			Key: int32(101 + key), Name: one[0], Type: "string", ManagedObjectType: one[1],
		})
	}
}

// furnish makes of the simulator's model an inventory with a template, a machine of somebody else's,
// and datastores of several kinds.
func furnish(ctx *simulator.Context) {
	ctx.Map.AddHandler(&completer{})
	for _, object := range ctx.Map.All("VirtualMachine") {
		complete(object.(*simulator.VirtualMachine))
	}
	place := map[string]*datastore{}
	for i := range datastores {
		place[fmt.Sprintf("LocalDS_%d", i+1)] = &datastores[i]
	}
	for _, object := range ctx.Map.All("Datastore") {
		found := object.(*simulator.Datastore)
		if kind := place[found.Name]; kind != nil {
			becomes(ctx, found, kind)
		}
	}
	for _, object := range ctx.Map.All("HostSystem") {
		attachLuns(ctx, object.(*simulator.HostSystem))
	}
	accelerate(ctx, false)
	addAttributes(ctx)
	for _, object := range ctx.Map.All("VirtualMachine") {
		vm := object.(*simulator.VirtualMachine)
		if strings.HasSuffix(vm.Name, "_VM0") {
			rename(ctx, vm, templateName)
			vm.MarkAsTemplate(&types.MarkAsTemplate{This: vm.Self})
		} else {
			rename(ctx, vm, neighbour)
			power(ctx, vm, true)
		}
	}
}

func rename(ctx *simulator.Context, vm *simulator.VirtualMachine, name string) {
	ctx.Map.AtomicUpdate(ctx, vm, []types.PropertyChange{
		{Name: "name", Val: name},
		{Name: "config.name", Val: name},
		{Name: "summary.config.name", Val: name},
	})
}

func becomes(ctx *simulator.Context, found *simulator.Datastore, kind *datastore) {
	info := *found.Info.GetDatastoreInfo()
	info.Name, info.FreeSpace = kind.name, 4096*gib
	var told types.BaseDatastoreInfo
	if kind.fs == "NFS" {
		told = &types.NasDatastoreInfo{DatastoreInfo: info, Nas: &types.HostNasVolume{
			HostFileSystemVolume: types.HostFileSystemVolume{
				Type: "NFS", Name: kind.name, Capacity: 8192 * gib,
			},
			RemoteHost: "filer.example", RemotePath: "/export/nfs",
		}}
	} else if kind.fs == "vsan" {
		told = &types.VsanDatastoreInfo{DatastoreInfo: info}
	} else {
		told = &types.VmfsDatastoreInfo{DatastoreInfo: info, Vmfs: &types.HostVmfsVolume{
			HostFileSystemVolume: types.HostFileSystemVolume{
				Type: kind.fs, Name: kind.name, Capacity: 8192 * gib,
			},
			BlockSizeMb: 1, MajorVersion: 6, Version: "6.82", Uuid: kind.name,
			Ssd: types.NewBool(kind.ssd), Local: types.NewBool(kind.local),
			Extent: []types.HostScsiDiskPartition{{DiskName: kind.lun, Partition: 1}},
		}}
	}
	if kind.fs == "vsan" { // the simulator makes objects on three fault domains or more
		for len(found.Host) < 3 {
			found.Host = append(found.Host, found.Host[0])
		}
	}
	ctx.Map.AtomicUpdate(ctx, found, []types.PropertyChange{
		{Name: "name", Val: kind.name},
		{Name: "summary.name", Val: kind.name},
		{Name: "summary.type", Val: kind.fs},
		{Name: "summary.capacity", Val: 8192 * gib},
		{Name: "summary.freeSpace", Val: 4096 * gib},
		{Name: "summary.multipleHostAccess", Val: !kind.local},
		{Name: "info", Val: told},
	})
}

// attachLuns gives a host the LUNs of the datastores and the paths to them.
func attachLuns(ctx *simulator.Context, host *simulator.HostSystem) {
	luns := []types.BaseScsiLun{}
	paths := &types.HostMultipathInfo{}
	for _, kind := range datastores {
		if kind.lun == "" {
			continue
		}
		key := "key-vim.host.ScsiDisk-" + kind.lun
		luns = append(luns, &types.HostScsiDisk{
			ScsiLun: types.ScsiLun{
				HostDevice: types.HostDevice{
					DeviceName: "/vmfs/devices/disks/" + kind.lun, DeviceType: "disk",
				},
				Key: key, Uuid: kind.lun, CanonicalName: kind.lun, LunType: "disk",
				Vendor: kind.vendor, Model: kind.model, QueueDepth: 32,
				OperationalState: []string{"ok"},
			},
			Capacity:   types.HostDiskDimensionsLba{BlockSize: 512, Block: 8192 * gib / 512},
			DevicePath: "/vmfs/devices/disks/" + kind.lun,
			Ssd:        types.NewBool(kind.ssd), LocalDisk: types.NewBool(kind.local),
		})
		unit := types.HostMultipathInfoLogicalUnit{
			Key: key, Id: kind.lun, Lun: key,
			Policy: &types.HostMultipathInfoLogicalUnitPolicy{Policy: kind.policy},
		}
		for i := range kind.paths {
			unit.Path = append(unit.Path, types.HostMultipathInfoPath{
				Key: fmt.Sprintf("%s-path-%d", key, i), Name: fmt.Sprintf("vmhba%d:C0:T0:L0", 64+i),
				PathState: "active", State: "active", IsWorkingPath: types.NewBool(true),
				Adapter: fmt.Sprintf("key-vim.host.Hba-vmhba%d", 64+i), Lun: key,
				Transport: kind.transport,
			})
		}
		paths.Lun = append(paths.Lun, unit)
	}
	ctx.Map.AtomicUpdate(ctx, host, []types.PropertyChange{{
		Name: "config.storageDevice",
		Val:  &types.HostStorageDeviceInfo{ScsiLun: luns, MultipathInfo: paths},
	}})
}

// completer fills in the enumerations that the simulator leaves empty, which pyVmomi refuses.
type completer struct{}

func (*completer) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Completer", Value: "completer"}
}

func (*completer) PutObject(_ *simulator.Context, object mo.Reference) {
	if vm, ok := object.(*simulator.VirtualMachine); ok {
		complete(vm)
	}
}

func (*completer) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

func (*completer) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}

func complete(vm *simulator.VirtualMachine) {
	for _, runtime := range []*types.VirtualMachineRuntimeInfo{&vm.Runtime, &vm.Summary.Runtime} {
		if runtime.FaultToleranceState == "" {
			runtime.FaultToleranceState = types.VirtualMachineFaultToleranceStateNotConfigured
		}
		if runtime.RecordReplayState == "" {
			runtime.RecordReplayState = types.VirtualMachineRecordReplayStateInactive
		}
	}
}
