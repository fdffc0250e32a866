#!/bin/sh
# Tell tagloom run that a job needs its links no longer. EpilogSlurmctld of slurm.conf; never fails.
PATH=/usr/bin:/bin
TAGLOOM_REQUESTS=${TAGLOOM_REQUESTS:-/var/lib/tagloom/requests}

case ${SLURM_JOB_ID:-} in '' | *[!0-9_]*) exit 0 ;; esac
rm -f "$TAGLOOM_REQUESTS/$SLURM_JOB_ID" "$TAGLOOM_REQUESTS/.$SLURM_JOB_ID.new" 2>/dev/null
exit 0
