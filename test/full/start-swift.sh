#!/bin/bash
# A Swift of one node with its S3 API: directory, port. Processes in *.pid.
# Needs: apt-get install -y --no-install-recommends swift-proxy swift-account swift-container
# swift-object memcached; /etc/swift/swift.conf of the package; extended attributes in the directory.
set -eu; D=$1 P=$2; mkdir -p $D/node/d1; cd $D; i=0      # key test:tester, secret testing; uses the package's /etc/swift/swift.conf; needs a writable /dev/shm and extended attributes
head() { printf '[DEFAULT]\nbind_ip=127.0.0.1\nbind_port=%s\nuser=%s\nswift_dir=%s\ndevices=%s/node\nmount_check=false\nworkers=0\n[pipeline:main]\npipeline=%s\n' $1 $(id -un) $D $D "$2"; }
for t in account container object; do i=$((i+1)); swift-ring-builder $t.builder create 4 1 0; swift-ring-builder $t.builder add r1z1-127.0.0.1:$((P+i))/d1 1
  swift-ring-builder $t.builder rebalance || [ $? -le 1 ]; { head $((P+i)) $t-server; printf '[app:%s-server]\nuse=egg:swift#%s\n' $t $t; } >$t.conf; done
{ head $P 'catch_errors gatekeeper proxy-logging cache listing_formats bulk s3api tempauth slo dlo versioned_writes proxy-logging proxy-server'
  # A node that answers late is asked again: by itself the proxy would leave the only one alone for a minute.
  printf '[app:proxy-server]\nuse=egg:swift#proxy\naccount_autocreate=true\nconn_timeout=20\nnode_timeout=30\nerror_suppression_interval=1\n[filter:proxy-logging]\nuse=egg:swift#proxy_logging\n[filter:cache]\nuse=egg:swift#memcache\nmemcache_servers=127.0.0.1:%s\n' $((P+4))
  for f in catch_errors gatekeeper listing_formats bulk s3api slo dlo versioned_writes; do printf '[filter:%s]\nuse=egg:swift#%s\n' $f $f; done
  printf '[filter:tempauth]\nuse=egg:swift#tempauth\nuser_test_tester=testing .admin\n'; } >proxy.conf
memcached -l 127.0.0.1 -p $((P+4)) -m 16 -u $(id -un) & echo $! >memcached.pid; for t in account container object proxy; do swift-$t-server $D/$t.conf >$t.log 2>&1 & echo $! >$t.pid; done
for n in $(seq 60); do (exec 3<>/dev/tcp/127.0.0.1/$P) 2>/dev/null && exit 0; sleep .5; done; exit 1
