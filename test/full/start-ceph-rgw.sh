#!/bin/bash
# A Ceph RGW of one node, in memory: directory, port of S3, port of the monitor. Processes in *.pid.
# Needs: apt-get install -y --no-install-recommends radosgw ceph-mon ceph-osd
set -eu; D=$1 RP=$2 MP=$3; mkdir -p $D/mon $D/osd $D/run; export CEPH_CONF=$D/ceph.conf; F=$(cat /proc/sys/kernel/random/uuid) O=$(cat /proc/sys/kernel/random/uuid)
printf '%s\n' '[global]' fsid=$F mon_host=v1:127.0.0.1:$MP ms_bind_msgr2=false public_network=127.0.0.0/8 auth_cluster_required=none \
  auth_service_required=none auth_client_required=none osd_pool_default_size=1 osd_pool_default_min_size=1 mon_allow_pool_size_one=true \
  osd_pool_default_pg_num=4 osd_pool_default_pgp_num=4 osd_pool_default_pg_autoscale_mode=off mon_max_pg_per_osd=1000 osd_crush_chooseleaf_type=0 \
  osd_objectstore=memstore memstore_device_bytes=1073741824 mon_data=$D/mon osd_data=$D/osd mon_data_avail_warn=1 mon_data_avail_crit=1 \
  run_dir=$D/run "admin_socket=$D/run/\$name.\$pid.asok" "log_file=$D/\$name.log" '[client.rgw]' rgw_data=$D "rgw_frontends=beast endpoint=127.0.0.1:$RP" >$CEPH_CONF
monmaptool --create --addv a "[v1:127.0.0.1:$MP]" --fsid $F $D/monmap; ceph-mon -i a --mkfs --monmap $D/monmap; ceph-mon -i a -f & echo $! >$D/mon.pid
timeout -k 1 30 ceph osd new $O; ceph-osd -i 0 --mkfs --osd-uuid $O; ceph-osd -i 0 -f & echo $! >$D/osd.pid
for i in $(seq 60); do timeout -k 1 10 ceph osd stat | grep -q ' 1 up' && break; sleep .5; done
# Both make the pools: one after the other. A client of a cluster that has no pools yet hangs now and
# then, and does not heed SIGTERM.
admin() { timeout -k 1 "$1" radosgw-admin -n client.rgw user "$2" --uid=tl "${@:3}"; }
admin 30 create --display-name=tl --access-key=test --secret-key=testsecret || admin 15 info
radosgw -n client.rgw -f & echo $! >$D/rgw.pid
for i in $(seq 80); do (exec 3<>/dev/tcp/127.0.0.1/$RP) 2>/dev/null && exit 0; sleep .5; done; exit 1
