# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# What: a Slurm of one node on this machine: munged, slurmctld, slurmd, with ports, sockets, key and state of their own.
# Why this way: the real scheduler in the foreground, without systemd, cgroups or a word written outside $1; every daemon
# is this shell's child and is ended by its process id. Sourced.

# slurm_start FOLDER: a new, empty folder. Afterwards sbatch, squeue and sinfo speak to it. Prints why, if it cannot.
slurm_start()
{
    slurm=$1
    slurm_pids=()
    local node port=$((20000 + RANDOM % 20000)) cpus
    node=$(hostname -s) cpus=$(nproc)
    mkdir -p "$slurm/state" "$slurm/spool"
    chmod 755 "$slurm"
    head -c 128 /dev/urandom >"$slurm/munge.key"
    chmod 400 "$slurm/munge.key"
    cat >"$slurm/slurm.conf" <<CONF
ClusterName=trial
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$slurm/munge.socket
CryptoType=crypto/munge
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd.pid
SlurmctldLogFile=$slurm/slurmctld.log
SlurmdLogFile=$slurm/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
NodeName=$node NodeAddr=127.0.0.1 CPUs=$cpus State=UNKNOWN
PartitionName=main Nodes=$node Default=YES MaxTime=INFINITE State=UP
CONF
    export SLURM_CONF=$slurm/slurm.conf
    slurm_daemon munged --foreground --force --key-file="$slurm/munge.key" --socket="$slurm/munge.socket" \
        --pid-file="$slurm/munged.pid" --log-file="$slurm/munged.log" --seed-file="$slurm/munged.seed"
    slurm_wait test -S "$slurm/munge.socket" || { echo "munged does not start"; return 1; }
    slurm_daemon slurmctld -D -c -f "$SLURM_CONF"
    slurm_daemon slurmd -D -c -N "$node" -f "$SLURM_CONF"
    slurm_wait slurm_idle || { echo "no idle node"; return 1; }
}

slurm_daemon()
{
    "$@" >>"$slurm/output" 2>&1 &
    slurm_pids+=($!)
}

slurm_idle() { [ "$(sinfo -h -o %T 2>/dev/null)" = idle ]; }

# slurm_wait COMMAND...: until it is true; false after half a minute. A ceiling, not an expectation.
slurm_wait()
{
    local try
    for ((try = 0; try < 300; try++)); do
        "$@" && return 0
        sleep 0.1
    done
    return 1
}

# slurm_stop: the daemons, last first, each waited for.
slurm_stop()
{
    local i
    for ((i = ${#slurm_pids[@]} - 1; i >= 0; i--)); do
        kill "${slurm_pids[i]}" 2>/dev/null
        wait "${slurm_pids[i]}" 2>/dev/null
    done
    slurm_pids=()
}
