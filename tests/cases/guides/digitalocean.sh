fio --filename=/mnt/volume-nyc3-04/fio.test \
 --direct=1 \
 --rw=randwrite \ 
 --ioengine=libaio \ 
 --bs=1024K \
 --iodepth=32 \
 --name=bw-test \
 --runtime=120s \

fio --filename=/mnt/volume-nyc3-04/fio.test \
 --direct=1 \
 --rw=randread \
 --ioengine=libaio \
 --bs=4K \
 --iodepth=128 \
 --name=rand-r \
 --runtime=120s \
