# Azure's guest agent reports a machine as ready when it finds the host key of its configured type
# in /etc/ssh. The default, `auto`, means rsa (WALinuxAgent, common/conf.py,
# get_ssh_host_keypair_type): a guest whose only host key is of another type is reported as failed
# after 1,800 s (pa/provision/cloudinit.py, wait_for_ssh_host_key, 2026). This runs before the agent
# starts: the network stage of cloud-init precedes network-online.target and multi-user.target.
# Comments start in the first column only, and the last line of a key holds (conf.py, load).
file=/etc/waagent.conf
key='Provisioning\.SshHostKeyPairType'
if [ ! -f "$file" ]; then
    :  # an image without the agent: cloud-init reports
elif grep -q "^[[:space:]]*${key}[[:space:]]*=" "$file"; then
    sed -i "s/^[[:space:]]*${key}[[:space:]]*=.*/Provisioning.SshHostKeyPairType=ed25519/" "$file"
else
    # The file may not end in a newline.
    printf '\nProvisioning.SshHostKeyPairType=ed25519\n' >>"$file"
fi
