#!/bin/sh
# Ask tagloom run for the links that a job's profile needs, and wait a little for them. PrologSlurmctld of slurm.conf.
# The profile is NAME of `sbatch --comment tagloom:NAME`, else the job's own name. A job is never failed nor kept long:
# whatever goes wrong, it starts after at most TAGLOOM_WAIT seconds. Slurm gives prologs no PATH.
PATH=/usr/bin:/bin
TAGLOOM_REQUESTS=${TAGLOOM_REQUESTS:-/var/lib/tagloom/requests}
TAGLOOM_WAIT=${TAGLOOM_WAIT:-90}

case ${SLURM_JOB_ID:-} in '' | *[!0-9_]*) exit 0 ;; esac
case ${SLURM_JOB_COMMENT:-} in
tagloom:*) profile=${SLURM_JOB_COMMENT#tagloom:} ;;
*) profile=${SLURM_JOB_NAME:-} ;;
esac
case $profile in '' | [!A-Za-z0-9]* | *[!A-Za-z0-9._-]*) exit 0 ;; esac

draft=$TAGLOOM_REQUESTS/.$SLURM_JOB_ID.new
(printf '%s\n' "$profile" >"$draft" && mv "$draft" "$TAGLOOM_REQUESTS/$SLURM_JOB_ID") 2>/dev/null || exit 0
waited=0
while [ "$waited" -lt "$TAGLOOM_WAIT" ] 2>/dev/null; do
    [ -e "$TAGLOOM_REQUESTS/.answered/$SLURM_JOB_ID" ] && break
    sleep 1
    waited=$((waited + 1))
done
exit 0
