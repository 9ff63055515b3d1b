# Google's guest agent makes new host keys at the first boot of an instance, unless it is told not to
# (guest-agent README, "Instance Setup" and "Configuration"); it starts after this. The host key is
# the lease's, and nobody would get in with another.
file=/etc/default/instance_configs.cfg
if grep -q '^set_host_keys' "$file" 2>/dev/null; then
    sed -i 's/^set_host_keys.*/set_host_keys = false/' "$file"
else
    printf '[InstanceSetup]\nset_host_keys = false\n' >>"$file"
fi
