# Says in one line how far the preparation of this machine is: ready, waiting, or failed and why.
# A machine without cloud-init prepared nothing; it is ready when fio is there.
state=/var/lib/diskbench
if [ -e "$state/ready" ]; then
    echo ready
elif [ -s "$state/failed" ]; then
    echo "failed $(cat "$state/failed")"
elif [ -d /run/cloud-init ]; then
    echo waiting
elif command -v fio >/dev/null 2>&1; then
    echo ready
else
    echo "failed there is neither fio nor cloud-init"
fi
