# The host key is the lease's, and nobody would get in with another: so says, in its own file, what
# the cloud's guest agent reads. It starts after this: the network stage of cloud-init precedes
# network-online.target and multi-user.target. Given before this text: cloud.
case $cloud in
google) # It makes new ones at the first boot of an instance, unless it is told not to (guest-agent
    # README, "Instance Setup" and "Configuration").
    file=/etc/default/instance_configs.cfg before='[InstanceSetup]' line='set_host_keys = false' ;;
azure) # It reports a machine as ready when it finds the host key of its configured type in /etc/ssh.
    # The default, `auto`, means rsa (WALinuxAgent, common/conf.py, get_ssh_host_keypair_type): a
    # guest whose only host key is of another type is reported as failed after 1,800 s
    # (pa/provision/cloudinit.py, wait_for_ssh_host_key, 2026). Comments start in the first column
    # only, and the last line of a key holds (conf.py, load). The file may not end in a newline.
    file=/etc/waagent.conf before='' line=Provisioning.SshHostKeyPairType=ed25519
    [ -f "$file" ] || exit 0 ;; # an image without the agent: cloud-init reports
esac
key="^[[:space:]]*${line%%[ =]*}[[:space:]]*="
if grep -q "$key" "$file" 2>/dev/null; then
    sed -i "s/$key.*/$line/" "$file"
else
    printf '%s\n' "$before" "$line" >>"$file"
fi
