# A systemd user manager in a mount namespace and control groups of its own: sh user-manager.sh <group>
set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system /run/user/0
chmod 700 /run/user/0
for root in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
  [ -e "$root/cgroup.procs" ] || continue
  mkdir -p "$root/$1"
  echo $$ > "$root/$1/cgroup.procs"
done
exec /usr/lib/systemd/systemd --user --log-target=null
