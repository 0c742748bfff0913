#!/usr/bin/env bash
# The end-to-end suite: what a user does with vmctl and kubectl, and what must be true then. The same checks on both
# runtimes, and on kind those that need pods.
#
#   scripts/e2e.sh embedded
#   scripts/e2e.sh kind        needs a container engine, kind and kubectl; see VMCTL_NODE_IMAGE, VMCTL_OPERATOR_IMAGE
#
#   VMCTL=target/debug/vmctl   the program that is tested; built when it is not set
#   KEEP=1                     leave the environment of a failed run up
#
# Touches no kubeconfig and no environment but its own. Prints a line per check; fails at the first that does.
set -euo pipefail
cd "$(dirname "$0")/.."

runtime=${1:-}
case "$runtime" in
    embedded | kind) ;;
    *)
        echo "usage: scripts/e2e.sh embedded|kind" >&2
        exit 2
        ;;
esac

work=$(mktemp -d)
export XDG_STATE_HOME=$work VMCTL_RUNTIME=$runtime VMCTL_ENV=e2e
system=vmoperator-system
operator=vmoperator-controller-manager
forward=''
passed=0
failed=''

say() { printf 'e2e %s: %s\n' "$runtime" "$*" >&2; }
# Says what is wrong; for a check to end with.
no() {
    echo "$*" >&2
    return 1
}
vmctl() { "$VMCTL" "$@"; }
kubectl() { vmctl kubectl "$@"; }

finish() {
    local status=$?
    [ -z "$forward" ] || kill "$forward" 2>/dev/null || true
    if [ -n "$failed" ]; then
        diagnose || true
        [ -z "${KEEP:-}" ] || { say "kept: XDG_STATE_HOME=$work VMCTL_ENV=e2e"; exit 1; }
    fi
    # Every environment, whatever the checks left of it.
    vmctl down --all --yes --quiet || status=1
    rm -rf "$work"
    exit "$status"
}

diagnose() {
    say 'how things stand:'
    vmctl status >&2 || true
    kubectl get vm,pcfg,secrets,services,endpointslices,leases --all-namespaces --request-timeout=10s >&2 || true
    if [ "$runtime" = kind ]; then
        kubectl get pods --all-namespaces -o wide --request-timeout=10s >&2 || true
        kubectl -n "$system" get events --request-timeout=10s >&2 | tail -n 20 || true
        kubectl -n "$system" logs --selector=app.kubernetes.io/name=vmoperator --tail=40 --request-timeout=10s >&2 || true
    else
        tail -n 40 "$work"/vmctl/env/e2e/logs/operator.log >&2 || true
    fi
}

# check NAME FUNCTION [ARGUMENT]...: runs it; shows what it printed if it failed, and ends.
check() {
    local name=$1 began=$SECONDS
    shift
    # Not in a condition: there `set -e` would not hold inside the function.
    set +e
    (
        set -e
        "$@"
    ) >"$work/output" 2>&1
    local status=$?
    set -e
    if [ "$status" -ne 0 ]; then
        printf 'FAIL  %-64s %4d s\n' "$name" $((SECONDS - began))
        sed 's/^/      /' "$work/output"
        failed=$name
        exit 1
    fi
    printf 'PASS  %-64s %4d s\n' "$name" $((SECONDS - began))
    passed=$((passed + 1))
}

# says PATTERN COMMAND...: it succeeds, and a line of what it prints has the pattern. Not `| grep -q`: that goes at the
# first match, and a program that prints on ends with a failure then.
says() {
    local pattern=$1
    shift
    "$@" >"$work/said" || { cat "$work/said"; no "failed: $*"; }
    grep -q -- "$pattern" "$work/said" || { cat "$work/said"; no "no line with '$pattern' from: $*"; }
}

# until SECONDS COMMAND...: repeats it until it succeeds.
until_true() {
    local limit=$((SECONDS + $1))
    shift
    until "$@" >"$work/last" 2>&1; do
        if [ "$SECONDS" -ge "$limit" ]; then
            cat "$work/last"
            no "in vain: $*"
            return 1
        fi
        sleep 0.3
    done
}

# --- what is looked at ---

field() { kubectl get "$@"; }
absent() { [ -z "$(kubectl get "$@" --ignore-not-found -o name)" ]; }
phase() { field vm "$1" -n "$2" -o 'jsonpath={.status.phase}'; }
id() { field vm "$1" -n "$2" -o 'jsonpath={.status.id}'; }

# Sets $admin to the admin interface of the mock provider of a namespace.
open_admin() {
    if [ "$runtime" = embedded ]; then
        admin=$(vmctl status -o json | sed -n 's/.*"admin":"\([^"]*\)".*/\1/p')
        return
    fi
    [ -z "$forward" ] || kill "$forward" 2>/dev/null || true
    : >"$work/forward"
    # The program itself and not the function: $! has to be kubectl.
    "$VMCTL" kubectl -n "$1" port-forward deployment/mock-provider :8081 >"$work/forward" 2>&1 &
    forward=$!
    until_true 30 grep -q '^Forwarding from 127' "$work/forward"
    admin=http://$(sed -n 's/^Forwarding from \(127[^ ]*\) .*/\1/p' "$work/forward" | head -n 1)
}

# Live VMs at the provider, one a line: ids.
provider_ids() {
    curl --silent --fail --max-time 10 "$admin/vms?deleted=false" | grep -o '"id":"[^"]*"' | cut -d'"' -f4 || true
}
provider_has() { [ "$(provider_ids | wc -l)" -eq "$1" ] || no "the provider has: $(provider_ids | tr '\n' ' ')"; }
creates() {
    curl --silent --fail --max-time 10 "$admin/log?limit=10000" | grep '"operation":"create"' | grep -c '"applied":true' || true
}

create() { vmctl create vm "$1" -n "$2" --image ubuntu-22.04 --cpu 2 --memory 4Gi "${@:3}"; }

# A namespace whose VMs go to the mock provider, as `default` does.
namespace() {
    kubectl create namespace "$1"
    field secret mock-provider -n default -o yaml | sed -e "s/namespace: default/namespace: $1/" -e '/uid:\|resourceVersion:\|creationTimestamp:/d' \
        -e '/finalizers:/,/in-use/d' | kubectl apply -f -
    kubectl apply -f - <<END
apiVersion: compute.example.com/v1
kind: ProviderConfig
metadata: { name: default, namespace: $1 }
spec:
  endpoint: $(field pcfg default -n default -o 'jsonpath={.spec.endpoint}')
  secretRef: { name: mock-provider }
END
    kubectl wait --for=condition=Ready pcfg/default -n "$1" --timeout=60s
}

# --- checks on both runtimes ---

comes_up() { vmctl up; }

again_changes_nothing() {
    vmctl up >"$work/up" 2>"$work/up.steps" || { cat "$work/up" "$work/up.steps"; return 1; }
    grep -q 'is up, unchanged' "$work/up" || { cat "$work/up" "$work/up.steps"; no 'something was changed'; }
}

becomes_running() {
    create web-1 default
    [ "$(phase web-1 default)" = Running ] || no "phase $(phase web-1 default)"
    provider_has 1
}

# Whoever told something about it is heard: replicas, the provider, the cluster.
logs_tell_of_it() {
    local teller
    vmctl logs vm web-1 >"$work/told"
    for teller in ' INFO  default/web-1 ' ' provider     create 201 ' ' event        Normal '; do
        grep -q "$teller" "$work/told" || { cat "$work/told"; no "no line with '$teller'"; }
    done
    says ' create .* 201 ' vmctl describe vm web-1
}

top_tells_of_it() {
    vmctl top operator >"$work/top"
    grep -q '^QUEUE ' "$work/top" || { cat "$work/top"; no 'it has no queue'; }
    grep -Eq '^virtualmachines? ' "$work/top" || { cat "$work/top"; no 'the queue has no row'; }
    grep -Eq '^create +[1-9]' "$work/top" || { cat "$work/top"; no 'no create was counted'; }
}

doctor_is_content() {
    vmctl doctor || no 'a check failed'
    [ "$runtime" = embedded ] || says '"id":"DOC-NODE-IMAGE"' vmctl doctor -o json
}

owns_its_objects() {
    local address found
    address=$(field vm web-1 -n default -o 'jsonpath={.status.addresses[0].address}')
    [ -n "$address" ] || no 'no address'
    until_true 60 field secret web-1-connection -n default
    found=$(field secret web-1-connection -n default -o 'jsonpath={.data.address}' | base64 -d)
    [ "$found" = "$address" ] || no "the Secret says $found, not $address"
    found=$(field service web-1 -n default -o 'jsonpath={.spec.clusterIP}')
    [ "$found" = None ] || no "the Service has the address $found"
    until_true 60 field endpointslice web-1-ipv4 -n default
    found=$(field endpointslice web-1-ipv4 -n default -o 'jsonpath={.endpoints[0].addresses[0]}')
    [ "$found" = "$address" ] || no "the EndpointSlice says $found, not $address"
}

secret_comes_back() {
    local before after
    before=$(field secret web-1-connection -n default -o 'jsonpath={.metadata.uid}')
    kubectl delete secret web-1-connection -n default
    until_true 60 field secret web-1-connection -n default
    after=$(field secret web-1-connection -n default -o 'jsonpath={.metadata.uid}')
    [ "$before" != "$after" ] || no 'it is the old one'
}

namespace_goes() {
    local name
    namespace gone
    for name in a b c; do create "$name" gone --wait=false; done
    kubectl wait --for=condition=Ready vm --all -n gone --timeout=120s
    provider_has 4
    kubectl delete namespace gone --timeout=120s
    absent namespace gone
    provider_has 1
}

holder() { field lease vmoperator-leader -n "$system" -o 'jsonpath={.spec.holderIdentity}'; }
another_leads() {
    local now
    now=$(holder)
    [ -n "$now" ] && [ "$now" != "$1" ] || no "holder: $now"
}

leader_changes() {
    local before vm made
    vm=$(id web-1 default) made=$(creates) before=$(holder)
    if [ "$runtime" = kind ]; then
        kubectl -n "$system" scale "deployment/$operator" --replicas=2
        kubectl -n "$system" rollout status "deployment/$operator" --timeout=120s
        before=$(holder)
        kubectl -n "$system" delete pod "${before%_*}" --wait=false
    else
        kill -9 "$(vmctl status | awk '$1 == "operator" && $2 ~ /^[0-9]+$/ { print $2 }')"
    fi
    until_true 120 another_leads "$before"
    # The new leader works, and makes nothing a second time.
    create after default
    [ "$(id web-1 default)" = "$vm" ] || no 'the VM is another one'
    [ "$(creates)" = $((made + 1)) ] || no "creates: $made before, $(creates) now"
    vmctl delete vm after
    [ "$runtime" != kind ] || kubectl -n "$system" scale "deployment/$operator" --replicas=1
}

# The dashboard finds every replica by itself, whatever it runs in, and knows which one leads.
dash_reaches_every_replica() {
    local wanted=1 seen=$work/dash
    if [ "$runtime" = kind ]; then
        wanted=2
        kubectl -n "$system" scale "deployment/$operator" --replicas=2
        kubectl -n "$system" rollout status "deployment/$operator" --timeout=120s
    fi
    until_true 60 dash_sees "$wanted" "$seen"
    # Of no source is anything lost or left out: metrics and inner state of each replica, objects, events and logs.
    ! grep -q '"is": "\(lost\|absent\|waiting\)"' "$seen" || no "$(cat "$seen")"
    [ "$(grep -c '"source": "metrics"' "$seen")" -eq "$wanted" ] || no "$(cat "$seen")"
    [ "$(grep -c '"source": "state"' "$seen")" -eq "$wanted" ] || no "$(cat "$seen")"
    grep -q '"source": "logs"' "$seen" || no "$(cat "$seen")"
    [ "$runtime" != kind ] || kubectl -n "$system" scale "deployment/$operator" --replicas=1
}
dash_sees() {
    vmctl dash --json --duration 6s >"$2"
    grep -q "\"answering\": $1" "$2" && grep -q "\"known\": $1" "$2" && grep -q '"state": "agreed"' "$2" || {
        cat "$2"
        return 1
    }
}

leaves_nothing() {
    # One VM is still there: it is finalised on the way.
    vmctl down --verify
    absent_at_engine
}

absent_at_engine() {
    [ "$runtime" = kind ] || return 0
    local left
    left=$("$engine" ps -a --filter "label=io.x-k8s.kind.cluster=$cluster" --format '{{.Names}}')
    [ -z "$left" ] || no "containers: $left"
}

# --- checks on kind alone ---

pods_are_restricted() {
    local answer
    answer=$(field namespace "$system" -o 'jsonpath={.metadata.labels.pod-security\.kubernetes\.io/enforce}')
    [ "$answer" = restricted ] || no "the namespace enforces '$answer'"
    kubectl -n "$system" wait --for=condition=Ready pod --all --timeout=120s
    if answer=$(kubectl -n "$system" run rude --image=none --privileged 2>&1); then no 'a privileged pod was let in'; fi
    case "$answer" in *'violates PodSecurity "restricted'*) ;; *) no "$answer" ;; esac
}

image_has_no_shell() {
    local shell
    for shell in sh bash /bin/sh /busybox/sh; do
        if kubectl -n "$system" exec "deployment/$operator" -- "$shell" -c true; then no "it has $shell"; fi
    done
    # What runs is not root, and cannot become it. Its process is found by its first flag.
    local status
    status=$("$engine" exec "$cluster-control-plane" sh -c \
        'for pid in $(pgrep -f -- --leader-elect); do case $(cat /proc/$pid/comm) in vm*) cat /proc/$pid/status ;; esac; done')
    grep -q '^Uid:[[:space:]]*65532' <<<"$status" || no "$(grep Uid: <<<"$status")"
    grep -q '^NoNewPrivs:[[:space:]]*1' <<<"$status" || no 'it may gain privileges'
    grep -q '^CapEff:[[:space:]]*0*$' <<<"$status" || no "$(grep CapEff <<<"$status")"
}

# The HTTP status of a scrape: by TLS that our own authority vouches for, with the token in a file, if one is given.
scrape() {
    local header=()
    [ -z "${1:-}" ] || header=(--header "@$1")
    curl --silent --max-time 10 --cacert "$work/ca.crt" "${header[@]}" --output "$work/metrics" --write-out '%{http_code}' \
        "https://localhost:$port/metrics"
}
status_is() {
    local found
    found=$(scrape "${2:-}") && [ "$found" = "$1" ] || no "status $found, not $1"
}

metrics_want_a_token() {
    local name port forwarding
    kubectl -n default create serviceaccount scraper
    kubectl create clusterrolebinding e2e-scraper --clusterrole=vmoperator-metrics-reader --serviceaccount=default:scraper
    for name in scraper default; do
        printf 'Authorization: Bearer %s' "$(kubectl -n default create token "$name")" >"$work/token-$name"
    done
    field configmap vmoperator-metrics-ca -n "$system" -o 'jsonpath={.data.ca\.crt}' >"$work/ca.crt"
    : >"$work/scraping"
    "$VMCTL" kubectl -n "$system" port-forward "deployment/$operator" :8443 >"$work/scraping" 2>&1 &
    forwarding=$!
    # shellcheck disable=SC2064 # this process, whatever the name means later
    trap "kill $forwarding" EXIT
    until_true 30 grep -q '^Forwarding from 127' "$work/scraping"
    port=$(sed -n 's/^Forwarding from 127[^:]*:\([0-9]*\) .*/\1/p' "$work/scraping" | head -n 1)
    until_true 60 status_is 200 "$work/token-scraper"
    grep -q '^vmoperator_build_info' "$work/metrics" || no "no metrics: $(head -n 5 "$work/metrics")"
    status_is 401
    status_is 403 "$work/token-default"
    # Not by an authority of the system, and not without TLS.
    if curl --silent --max-time 10 "https://localhost:$port/metrics"; then no 'a stranger vouches for it'; fi
    if curl --silent --fail --max-time 10 "http://localhost:$port/metrics"; then no 'it answers without TLS'; fi
    kubectl delete clusterrolebinding e2e-scraper
    kubectl -n default delete serviceaccount scraper
}

# An image with the one program that asks for a name, and what that loads; no registry is asked.
make_probe() {
    local root=$work/probe file
    mkdir -p "$root/bin"
    cp -L "$(command -v getent)" "$root/bin/getent"
    ldd "$root/bin/getent" | grep -o '/[^ ]*' | while read -r file; do
        mkdir -p "$root$(dirname "$file")"
        cp -L "$file" "$root$file"
    done
    tar -C "$root" --owner=0 --group=0 -cf - . | "$engine" import - localhost/e2e-probe:1
    "$engine" save -o "$work/probe.tar" localhost/e2e-probe:1
    "$engine" rmi localhost/e2e-probe:1
    kind load image-archive --name "$cluster" "$work/probe.tar"
}

pod_resolves_the_vm() {
    local address
    address=$(field vm web-1 -n default -o 'jsonpath={.status.addresses[0].address}')
    make_probe
    kubectl -n default run probe --image=localhost/e2e-probe:1 --image-pull-policy=Never --restart=Never \
        --command -- /bin/getent ahostsv4 web-1.default.svc
    until_true 60 probe_ended
    says "^$address " kubectl -n default logs probe
    kubectl -n default delete pod probe --wait=false
}
probe_ended() { case "$(field pod probe -n default -o 'jsonpath={.status.phase}')" in Succeeded | Failed) ;; *) no running ;; esac; }

# A cloud of its own, in a namespace that stays when the operator goes.
make_cloud() {
    namespace_of_cloud | kubectl apply -f -
    kubectl -n cloud rollout status deployment/mock-provider --timeout=120s
    kubectl -n "$system" set env "deployment/$operator" \
        VMOPERATOR_ALLOW_HTTP=true 'VMOPERATOR_ENDPOINT_ALLOW=*.cloud.svc,mock-provider.vmoperator-system.svc'
    kubectl -n "$system" rollout status "deployment/$operator" --timeout=120s
    kubectl wait --for=condition=Ready pcfg/default -n team --timeout=120s
}
namespace_of_cloud() {
    local image
    image=$(field deployment mock-provider -n "$system" -o 'jsonpath={.spec.template.spec.containers[0].image}')
    cat <<END
apiVersion: v1
kind: Namespace
metadata: { name: cloud }
---
apiVersion: v1
kind: Namespace
metadata: { name: team }
---
END
    for file in secret service deployment; do
        sed -e "s/namespace: vmoperator-system/namespace: cloud/" -e "s|image: mock-provider:.*|image: $image|" \
            -e 's/imagePullPolicy: .*/imagePullPolicy: Never/' "config/mock-provider/$file.yaml"
        echo ---
    done
    cat <<END
apiVersion: v1
kind: Secret
metadata: { name: cloud, namespace: team }
stringData: { apiKey: development-only }
---
apiVersion: compute.example.com/v1
kind: ProviderConfig
metadata: { name: default, namespace: team }
spec: { endpoint: 'http://mock-provider.cloud.svc', secretRef: { name: cloud } }
END
}

ten_machines() {
    local number
    for number in 0 1 2 3 4 5 6 7 8 9; do create "vm-$number" team --wait=false; done
    kubectl wait --for=condition=Ready vm --all -n team --timeout=180s
    provider_has 10
}

by_hand() { "$VMCTL" "$1" --kubeconfig "$work/vmctl/env/e2e/kubeconfig" --yes "${@:2}"; }

uninstall_leaves_nothing() {
    by_hand uninstall
    provider_has 0
    until_true 60 nothing_of_ours
}
# Repeated until it is true: what VMs owned is collected a little later.
nothing_of_ours() {
    local left
    left=$(kubectl get crd,clusterrole,clusterrolebinding,namespace -o name | grep -e vmoperator -e virtualmachine -e providerconfig || true)
    [ -z "$left" ] || { no "left: $left"; return 1; }
    left=$(kubectl get secret,service,endpointslice --all-namespaces -l app.kubernetes.io/managed-by=vmoperator -o name)
    [ -z "$left" ] || { no "left: $left"; return 1; }
    left=$(kubectl get secret --all-namespaces -o jsonpath='{.items[*].metadata.finalizers}')
    [ -z "$left" ] || { no "finalizers on Secrets: $left"; return 1; }
}

install_and_orphan() {
    by_hand install --image "$image" --wait=false
    kubectl -n "$system" set env "deployment/$operator" VMOPERATOR_ALLOW_HTTP=true 'VMOPERATOR_ENDPOINT_ALLOW=*.cloud.svc'
    by_hand install --image "$image"
    namespace_of_cloud_config | kubectl apply -f -
    create left team
    provider_has 1
    by_hand uninstall --orphan
    until_true 60 nothing_of_ours
    provider_has 1
}
namespace_of_cloud_config() {
    cat <<END
apiVersion: compute.example.com/v1
kind: ProviderConfig
metadata: { name: default, namespace: team }
spec: { endpoint: 'http://mock-provider.cloud.svc', secretRef: { name: cloud } }
END
}

# --- up is cut off, on kind; on processes tests/up_survival does it ---
#
# Shortened, since each cluster takes its time: the signals take turns over the steps, instead of each at every step; and
# down is tried where something new has come to be, not behind each step.

cut_cluster() { sed -n 's/.*"cluster": "\([^"]*\)".*/\1/p' "$work/vmctl/env/cut/kind.json" 2>/dev/null || true; }
cut_nodes() { "$engine" ps -a --filter "label=io.x-k8s.kind.cluster=$1" --format '{{.Names}}'; }
cut_has_a_node() { local name; name=$(cut_cluster); [ -n "$name" ] && [ -n "$(cut_nodes "$name")" ]; }

ended_by() {
    local wanted
    case "$2" in INT) wanted=130 ;; TERM) wanted=143 ;; KILL) wanted=137 ;; esac
    [ "$1" -eq "$wanted" ] || { cat "$work/cut"; no "up, cut off $3 by $2, ended with $1"; }
}

# cut_behind STEP SIGNAL: up ends itself there.
cut_behind() {
    local status=0
    VMCTL_FAILPOINT=$1:$2 "$VMCTL" up --env cut >"$work/cut" 2>&1 || status=$?
    ended_by "$status" "$2" "behind $1"
}

# In the middle of making the cluster.
cut_while_making() {
    local pid status=0
    "$VMCTL" up --env cut >"$work/cut" 2>&1 &
    pid=$!
    until_true 120 cut_has_a_node || { kill -KILL "$pid"; cat "$work/cut"; return 1; }
    kill "-$1" "$pid"
    wait "$pid" || status=$?
    ended_by "$status" "$1" 'while making the cluster'
}

cut_off_up_goes_on() {
    local signals=(INT TERM KILL) at=0 steps step
    # Every step that there is, as up itself names them.
    steps=$("$VMCTL" up --env cut --dry-run -o json | grep -o '"step":"[^"]*"' | cut -d'"' -f4)
    steps=${steps/smoke/$'smoke-made\nsmoke'}
    [ "$(wc -l <<<"$steps")" -ge 14 ] || no "steps: $steps"
    for step in $steps; do
        [ "$step" != cluster ] || cut_while_making KILL
        cut_behind "$step" "${signals[at++ % 3]}"
    done
    "$VMCTL" up --env cut >"$work/cut" 2>&1 || { cat "$work/cut"; return 1; }
    grep -q 'is up, unchanged' "$work/cut" || { cat "$work/cut"; no 'something was done twice'; }
    "$VMCTL" status --env cut
    [ -z "$("$VMCTL" get vm -A -o name --env cut)" ] || no 'a VirtualMachine is left'
    down_of_cut
}

down_of_cut() {
    local name
    name=$(cut_cluster)
    "$VMCTL" down --env cut --verify
    [ ! -e "$work/vmctl/env/cut" ] || no 'its folder is left'
    [ -z "$name" ] || [ -z "$(cut_nodes "$name")" ] || no "containers: $(cut_nodes "$name")"
}

# Two lines, no `&&`: there a failure would be overlooked.
cut_and_remove() {
    "$@"
    down_of_cut
}
cut_off_up_can_be_removed() {
    cut_and_remove cut_behind preflight KILL
    cut_and_remove cut_behind images INT
    cut_and_remove cut_while_making TERM
    cut_and_remove cut_behind cluster KILL
    # By then a VM is at the provider.
    cut_and_remove cut_behind smoke-made TERM
}

# --- the run ---

if [ -z "${VMCTL:-}" ]; then
    # With the points at which up is cut off.
    cargo build --locked --features failpoints --bin vmctl
    VMCTL=${CARGO_TARGET_DIR:-target}/debug/vmctl
fi
VMCTL=$(realpath "$VMCTL")
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

check 'vmctl up' comes_up
cat "$work/output" >&2
check 'vmctl up again changes nothing' again_changes_nothing
open_admin "$system"
if [ "$runtime" = kind ]; then
    cluster=$(sed -n 's/.*"cluster": "\([^"]*\)".*/\1/p' "$work/vmctl/env/e2e/kind.json")
    engine=$(sed -n 's/.*"engine": "\([^"]*\)".*/\1/p' "$work/vmctl/env/e2e/kind.json")
    check 'pods are Ready under the enforced restricted standard' pods_are_restricted
    check 'the image has no shell; its process no rights' image_has_no_shell
    check 'metrics by TLS with a token, and refused without' metrics_want_a_token
fi
check 'vmctl create vm: Running' becomes_running
check 'vmctl logs vm: operator, provider and events' logs_tell_of_it
check 'vmctl top operator: queue and provider calls' top_tells_of_it
check 'vmctl doctor finds nothing broken' doctor_is_content
check 'Secret, Service and EndpointSlice' owns_its_objects
check 'a deleted Secret comes back' secret_comes_back
[ "$runtime" != kind ] || check 'a pod resolves the name of the VM' pod_resolves_the_vm
check 'vmctl dash reaches every replica by itself' dash_reaches_every_replica
check 'the leader goes, another leads, nothing is made twice' leader_changes
check 'kubectl delete namespace with VMs finishes, none is left' namespace_goes
if [ "$runtime" = kind ]; then
    check 'vmctl up after all that repairs and is Ready' comes_up
    image=$(field deployment "$operator" -n "$system" -o 'jsonpath={.spec.template.spec.containers[0].image}')
    vmctl delete vm web-1 >/dev/null
    check 'a cloud of its own for another namespace' make_cloud
    open_admin cloud
    check 'ten VMs' ten_machines
    check 'vmctl uninstall leaves nothing, at the provider neither' uninstall_leaves_nothing
    check 'vmctl install; uninstall --orphan leaves the VM alone' install_and_orphan
fi
check 'vmctl down leaves nothing' leaves_nothing
if [ "$runtime" = kind ]; then
    check 'up, cut off behind every step and while making, goes on' cut_off_up_goes_on
    check 'up, cut off, is removed without a trace' cut_off_up_can_be_removed
fi
printf '%d checks passed on %s in %d s\n' "$passed" "$runtime" "$SECONDS"
