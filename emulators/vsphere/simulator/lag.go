package main

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// sightings is the lag mode: a new machine is absent from listings and from its own properties for
// some looks at it, a destroyed one still there. vCenter's inventory is up to date as a rule; the mode
// is harder than it is. What changes a machine meets the truth at once.
type sightings struct {
	lock   sync.Mutex
	lag    int
	unseen map[types.ManagedObjectReference]int
	gone   map[types.ManagedObjectReference]int
	// last is what was last told of each machine, by path: that is what a destroyed one shows.
	last map[types.ManagedObjectReference]map[string]any
}

// seen is shared by the property collectors of all sessions, which the simulator makes by their type.
var seen = &sightings{
	unseen: map[types.ManagedObjectReference]int{},
	gone:   map[types.ManagedObjectReference]int{},
	last:   map[types.ManagedObjectReference]map[string]any{},
}

// Reference, PutObject, UpdateObject and RemoveObject are simulator.RegisterObject.
func (*sightings) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Sightings", Value: "sightings"}
}

func (s *sightings) PutObject(_ *simulator.Context, object mo.Reference) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if ref := object.Reference(); ref.Type == "VirtualMachine" && s.lag > 0 {
		s.unseen[ref] = s.lag
	}
}

func (*sightings) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

func (s *sightings) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if ref.Type != "VirtualMachine" {
		return
	}
	if _, never := s.unseen[ref]; !never && s.lag > 0 {
		s.gone[ref] = s.lag
	}
	delete(s.unseen, ref)
}

// settle is as if everybody had looked often enough.
func (s *sightings) settle(lag int) {
	s.lock.Lock()
	defer s.lock.Unlock()
	clear(s.unseen)
	clear(s.gone)
	s.lag = lag
}

// absent is one look at a machine: whether it is not shown yet.
func (s *sightings) absent(ref types.ManagedObjectReference) bool {
	left, ok := s.unseen[ref]
	if !ok {
		return false
	}
	if left <= 1 {
		delete(s.unseen, ref)
	} else {
		s.unseen[ref] = left - 1
	}
	return true
}

// ghost is one look at a destroyed machine: what is shown of it, if it is shown still.
func (s *sightings) ghost(ref types.ManagedObjectReference, paths []string) (types.ObjectContent, bool) {
	left, ok := s.gone[ref]
	if !ok {
		return types.ObjectContent{}, false
	}
	if left <= 1 {
		delete(s.gone, ref)
	} else {
		s.gone[ref] = left - 1
	}
	told := types.ObjectContent{Obj: ref}
	for _, path := range paths {
		if value, ok := s.last[ref][path]; ok {
			told.PropSet = append(told.PropSet, types.DynamicProperty{Name: path, Val: value})
		}
	}
	return told, true
}

func (s *sightings) remember(object types.ObjectContent) {
	if s.last[object.Obj] == nil {
		s.last[object.Obj] = map[string]any{}
	}
	for _, one := range object.PropSet {
		s.last[object.Obj][one.Name] = one.Val
	}
}

// collector is the property collector, with the lag.
type collector struct {
	simulator.PropertyCollector
}

// lagging puts it in the place of the simulator's own.
func lagging(ctx *simulator.Context) {
	ctx.Map.AddHandler(seen)
	made := &collector{}
	made.Self = content(ctx).PropertyCollector
	ctx.Map.Put(made)
}

// RetrievePropertiesEx is the method of the API.
func (c *collector) RetrievePropertiesEx(
	ctx *simulator.Context, req *types.RetrievePropertiesEx,
) soap.HasFault {
	paths, listing := asked(req)
	seen.lock.Lock()
	for _, spec := range req.SpecSet {
		for _, one := range spec.ObjectSet {
			if one.Obj.Type != "VirtualMachine" {
				continue
			}
			if seen.absent(one.Obj) {
				seen.lock.Unlock()
				body := &methods.RetrievePropertiesExBody{}
				body.Fault_ = simulator.Fault("not there yet", &types.ManagedObjectNotFound{Obj: one.Obj})
				return body
			}
			if told, ok := seen.ghost(one.Obj, paths); ok {
				seen.lock.Unlock()
				return answered([]types.ObjectContent{told})
			}
		}
	}
	seen.lock.Unlock()
	body := c.PropertyCollector.RetrievePropertiesEx(ctx, req)
	found, ok := body.(*methods.RetrievePropertiesExBody)
	if !ok || found.Res == nil || found.Res.Returnval == nil {
		return body
	}
	seen.lock.Lock()
	defer seen.lock.Unlock()
	shown := []types.ObjectContent{}
	for _, object := range found.Res.Returnval.Objects {
		if object.Obj.Type == "VirtualMachine" {
			if listing && seen.absent(object.Obj) {
				continue
			}
			seen.remember(object)
		}
		shown = append(shown, object)
	}
	if listing {
		for ref := range seen.gone {
			if told, ok := seen.ghost(ref, paths); ok {
				shown = append(shown, told)
			}
		}
	}
	found.Res.Returnval.Objects = shown
	return found
}

// asked are the properties of machines that a request is for, and whether it lists machines.
func asked(req *types.RetrievePropertiesEx) ([]string, bool) {
	paths, listing := []string{}, false
	for _, spec := range req.SpecSet {
		machines := false
		for _, set := range spec.PropSet {
			if set.Type == "VirtualMachine" {
				paths, machines = append(paths, set.PathSet...), true
			}
		}
		for _, one := range spec.ObjectSet {
			listing = listing || machines && one.Obj.Type == "ContainerView"
		}
	}
	return paths, listing
}

func answered(objects []types.ObjectContent) soap.HasFault {
	return &methods.RetrievePropertiesExBody{Res: &types.RetrievePropertiesExResponse{
		Returnval: &types.RetrieveResult{Objects: objects},
	}}
}
