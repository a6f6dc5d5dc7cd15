#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What: a session cut into blocks, run by a shell loop, by GNU parallel and by a real Slurm, and put together again.
# Why this way: the scheduler is Debian's own, started here for the one case (support/slurm.sh). What a block costs does not
# matter here, only that each was run once, with all its arms, and that nothing was lost.

# shellcheck source=tests/support/cases.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/cases.sh"
# shellcheck source=tests/support/slurm.sh
. "$support/slurm.sh"

arms=(--arm glibc= --arm "level2=$library;SCRUBJAY_OPTIONS=level=2")
job=(sh -c 'sleep 0.02; echo done')
cost() { "$build/scrubjay" cost "$@" 2>>log || { status=$?; tail -n 3 log; return $status; }; }

# plan FOLDER [OPTION...]: three blocks.
plan() { cost plan "${@:2}" --out "$1" --pairs 6 --wait 0 --least 0 "${arms[@]}" -- "${job[@]}"; }
run_block() { cost run-block --plan "$1/plan.jsonl" --index "$2" >/dev/null; }

# merged FOLDER...: complains unless the result has three blocks with two runs of each of three arms.
merged()
{
    local rows
    # Verdicts are statuses too, and three blocks have none.
    "$build/scrubjay" cost merge --out result "$@" >report 2>>log
    [ -s result/rows.jsonl ] || { tail -n 3 log; return; }
    rows=$(grep '"type":"row"' result/rows.jsonl | grep '"warm_up":false')
    [ "$(echo "$rows" | wc -l)" = 18 ] || echo "$(echo "$rows" | wc -l) rows, not 18"
    [ "$(echo "$rows" | grep -o '"block":[0-9]*,"half":[0-9]' | sort | uniq -c | awk '{ print $1 }' | sort -u)" = 3 ] ||
        echo "a half block has not its three arms"
    [ "$(echo "$rows" | grep -o '"block":[0-9]*' | sort -u | tr '\n' ' ')" = '"block":0 "block":1 "block":2 ' ] ||
        echo "the blocks are not numbered 0 to 2"
    grep -q '<svg' result/report.html || echo "no page"
    rm -rf result
}

plan_lists_blocks()
{
    plan listed >/dev/null
    [ "$(grep -c '"type":"block",' listed/plan.jsonl)" = 3 ] || cat listed/plan.jsonl
    [ "$(grep -o '"seed":[0-9]*' listed/plan.jsonl | sort -u | wc -l)" = 3 ] || echo "seeds are shared"
    cost plan --pairs 6 "${arms[@]}" -- "${job[@]}" >printed
    [ "$(wc -l <printed)" = 4 ] || cat printed
}

loop_of_the_shell()
{
    local i
    plan loop >/dev/null
    for i in 0 1 2; do run_block loop $i; done
    merged loop/block-*
    # A block that is run again replaces what it left.
    run_block loop 1
    merged loop/block-*
}

gnu_parallel()
{
    command -v parallel >/dev/null || lacks "there is no GNU parallel (package parallel)"
    plan parallel >/dev/null
    parallel --will-cite -j 2 "$build/scrubjay" cost run-block --plan parallel/plan.jsonl --index '{}' \
        ::: 0 1 2 >>log 2>&1 || tail -n 3 log
    merged parallel/block-*
}

from_another_folder()
{
    plan away >/dev/null
    mkdir elsewhere
    (cd elsewhere && cost run-block --plan ../away/plan.jsonl --index 2 --out here >/dev/null)
    [ -s elsewhere/here/block-0002/rows.jsonl ] || echo "no rows where --out says"
}

slurm_ended() { [ -z "$(squeue -h 2>&1)" ]; }

slurm_array()
{
    local command
    for command in munged slurmctld slurmd sbatch; do
        command -v $command >/dev/null || PATH=$PATH:/usr/sbin
        command -v $command >/dev/null || lacks "there is no $command (packages slurm-wlm, munge)"
    done
    trap slurm_stop RETURN
    slurm_start "$work/slurm" || { tail -n 3 "$work"/slurm/*.log "$work/slurm/output"; return; }
    says "$(plan array --cluster slurm)" "submitted: 3 blocks"
    slurm_wait slurm_ended || squeue
    merged array/block-* || tail -n 3 array/slurm-*.log
}

unlike_machines_are_refused()
{
    local text
    plan unlike >/dev/null
    run_block unlike 0
    run_block unlike 1
    sed -i '1s/"kernel":"[^"]*"/"kernel":"Linux of another world"/' unlike/block-0001/rows.jsonl
    text=$("$build/scrubjay" cost merge unlike/block-* 2>&1) && echo "merged without a word"
    says "$text" "not alike: kernel"
    "$build/scrubjay" cost merge --unlike --out both unlike/block-* >/dev/null 2>>log
    [ -s both/rows.jsonl ] || tail -n 3 log
}

what_is_no_plan_is_refused()
{
    local text
    plan refused >/dev/null
    text=$("$build/scrubjay" cost run-block --plan refused/plan.jsonl --index 3 2>&1) && echo "ran a block that is not there"
    says "$text" "no block 3"
    echo '{"type":"session"}' >other
    text=$("$build/scrubjay" cost run-block --plan other --index 0 2>&1) && echo "took any file"
    says "$text" "is not a plan"
    text=$("$build/scrubjay" cost run-block --index 0 2>&1) && echo "took no plan"
    says "$text" "usage"
}

check plan_lists_every_block_with_a_seed_of_its_own plan_lists_blocks
check a_shell_loop_runs_the_blocks loop_of_the_shell
check parallel_runs_the_blocks gnu_parallel
check a_block_runs_from_any_folder from_another_folder
check a_slurm_array_runs_the_blocks slurm_array
check merge_refuses_unlike_machines unlike_machines_are_refused
check run_block_refuses_what_is_no_plan what_is_no_plan_is_refused
finish
