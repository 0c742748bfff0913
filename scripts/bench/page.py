#!/usr/bin/env python3
"""docs/benchmark.md from the raw results: medians with range, ratios to the peers, goals reached or missed, gates.

    page.py FOLDER            writes docs/benchmark.md; fails where a count is not what it must be
    page.py --check FOLDER    prints the tables and checks the counts

FOLDER holds one NAME.jsonl per measurement of `scripts/bench/run`, one line per run.
"""
import json, pathlib, platform, statistics, subprocess, sys

OURS = 'vmoperator'
TITLES = {
    'quick': 'A burst of 200, without owned objects',
    'plain1000': 'A burst of 1,000, without owned objects',
    'children1000': 'A burst of 1,000, each with its Secret, Service and EndpointSlice',
    'plain5000': '5,000 without owned objects: burst, rest, restart, deletion',
    'children5000': '5,000 with owned objects: burst, rest, restart, deletion',
    'churn': 'Churn: 5 new VMs a second, each deleted after 15 s',
}
# Title, path in a result, digits.
ROWS = [
    ('VMs/s, the 5 s of the provider included', 'vms_per_s', 0),
    ('VMs/s net', 'vms_per_s_net', 0),
    ('overhead to Running P50, ms', 'overhead_to_running_ms.p50', 0),
    ('overhead to Running P99, ms', 'overhead_to_running_ms.p99', 0),
    ('create to POST P99, ms', 'create_to_post_ms.p99', 0),
    ('API writes per VM, Events apart', '=writes', 2),
    ('Events per VM', '=events', 2),
    ('API writes, Events apart', '=all-writes', 0),
    ('provider calls', '=calls', 0),
    ('operator CPU, ms per VM', 'cpu_ms_per_vm', 2),
    ('operator CPU, % of a core', 'usage.cpu_pct_of_a_core', 2),
    ('operator CPU, s', 'usage.cpu_s', 2),
    ('RSS peak, MiB', 'usage.rss_peak_mib', 0),
    ('RSS end, MiB', 'usage.rss_end_mib', 0),
    ('anonymous memory, MiB', 'usage.rss_anon_end_mib', 0),
    ('ready, s', 'ready_s', 2),
    ('settled, s', 'settled_s', 1),
    ('first effect for a VM that waited, s', 'first_effect_s', 2),
    ('cores used by others', '=foreign', 2),
]


def pick(tree, path):
    for key in path.split('.'):
        if not isinstance(tree, dict) or key not in tree:
            return None
        tree = tree[key]
    return tree


def kinds(result):
    """Writes of the operator in a scenario, by what was written."""
    asked = result['usage'].get('api_requests') or {}
    reads = ('get ', 'list ', 'watch ')
    return {k: n for k, n in asked.items() if not k.startswith(reads)}


def value(result, path):
    writes = kinds(result)
    events = sum(n for k, n in writes.items() if k.split(' ')[1].startswith('events'))
    others = sum(writes.values()) - events
    count = result.get('n') or 0
    per_vm = result['scenario'].startswith(('burst', 'delete')) and count
    if path == '=writes':
        return others / count if per_vm else None
    if path == '=events':
        return events / count if per_vm else None
    if path == '=all-writes':
        return None if per_vm else others
    if path == '=calls':
        return sum(n for k, n in (result['usage'].get('provider_calls') or {}).items() if not k.startswith('code'))
    if path == '=foreign':
        return result['usage']['foreign_busy_s'] / max(result['usage']['seconds'], 0.1)
    return pick(result, path)


def load(folder):
    """{measurement: [(operator, result)]}; runs that others disturbed are left out where there are undisturbed ones."""
    found = {}
    for name in TITLES:
        file = folder / f'{name}.jsonl'
        if not file.exists():
            continue
        runs = [json.loads(line) for line in file.read_text().splitlines()]
        rows = []
        for operator in dict.fromkeys(run['operator'] for run in runs):
            mine = [run for run in runs if run['operator'] == operator]
            calm = [run for run in mine if not run['disturbed']] or mine
            rows += [(operator, result) for run in calm for result in run['scenarios']]
        found[name] = (runs, rows)
    return found


def values(rows, operator, scenario, path):
    numbers = (value(r, path) for o, r in rows if o == operator and r['scenario'] == scenario)
    return [n for n in numbers if n is not None]


def middle(rows, operator, scenario, path):
    numbers = values(rows, operator, scenario, path)
    return statistics.median(numbers) if numbers else None


def cell(numbers, digits):
    if not numbers:
        return '–'
    show = lambda n: f'{n:,.{digits}f}'
    low, mid, high = show(min(numbers)), show(statistics.median(numbers)), show(max(numbers))
    return mid if low == high else f'{mid} ({low}–{high})'


def tables(rows):
    operators = list(dict.fromkeys(o for o, _ in rows))
    operators.sort(key=lambda o: o != OURS)
    for scenario in dict.fromkeys(r['scenario'] for _, r in rows):
        yield f'\n**{scenario}**\n'
        yield '| | ' + ' | '.join(operators) + ' |'
        yield '|---' * (len(operators) + 1) + '|'
        for title, path, digits in ROWS:
            cells = [cell(values(rows, o, scenario, path), digits) for o in operators]
            if any(c != '–' for c in cells):
                yield f'| {title} | ' + ' | '.join(cells) + ' |'
        counted = [sum(o == m and r['scenario'] == scenario for m, r in rows) for o in operators]
        yield '| runs | ' + ' | '.join(map(str, counted)) + ' |'


def ratio(a, b):
    return None if a is None or not b else a / b


def goals(found):
    """(goal, what was reached, met or not, `None` where it was not measured)."""
    def of(name, operator, scenario, path):
        return middle(found[name][1], operator, scenario, path) if name in found else None

    def faster(name, scenario, path, pick_best):
        others = {o for o, _ in found[name][1] if o != OURS} if name in found else set()
        numbers = [n for o in others if (n := of(name, o, scenario, path)) is not None]
        return pick_best(numbers) if numbers else None

    burst, idle = 'burst=5000', 'idle=60s'
    plain, full = 'plain5000', 'children5000'
    lines = [
        ('burst of 5,000 without owned objects, VMs/s against the faster peer ≥ 1.05',
         ratio(of(plain, OURS, burst, 'vms_per_s'), faster(plain, burst, 'vms_per_s', max)), lambda x: x >= 1.05, '{:.2f} ×'),
        ('overhead to Running P99 ≤ 100 ms', of(plain, OURS, burst, 'overhead_to_running_ms.p99'), lambda x: x <= 100, '{:.0f} ms'),
        ('burst of 5,000 with owned objects, VMs/s against idiomatic ≥ 1.2',
         ratio(of(full, OURS, burst, 'vms_per_s'), of(full, 'idiomatic', burst, 'vms_per_s')), lambda x: x >= 1.2, '{:.2f} ×'),
        ('operator CPU per VM ≤ 0.5 ms without owned objects', of(plain, OURS, burst, 'cpu_ms_per_vm'), lambda x: x <= 0.5, '{:.2f} ms'),
        ('operator CPU per VM ≤ 0.9 ms with owned objects', of(full, OURS, burst, 'cpu_ms_per_vm'), lambda x: x <= 0.9, '{:.2f} ms'),
        ('memory at 5,000 without owned objects ≤ ⅓ of lean',
         ratio(of(plain, OURS, idle, 'usage.rss_end_mib'), of(plain, 'lean-feed-plain', idle, 'usage.rss_end_mib')), lambda x: x <= 1 / 3, '{:.2f} ×'),
        ('memory at 5,000 with owned objects ≤ ⅓ of lean',
         ratio(of(full, OURS, idle, 'usage.rss_end_mib'), of(full, 'lean', idle, 'usage.rss_end_mib')), lambda x: x <= 1 / 3, '{:.2f} ×'),
        ('memory at 5,000 with owned objects ≤ ¼ of idiomatic',
         ratio(of(full, OURS, idle, 'usage.rss_end_mib'), of(full, 'idiomatic', idle, 'usage.rss_end_mib')), lambda x: x <= 1 / 4, '{:.2f} ×'),
        ('idle at 5,000 ≤ 0.05 % of a core', of(plain, OURS, idle, 'usage.cpu_pct_of_a_core'), lambda x: x <= 0.05, '{:.2f} %'),
        ('restart at 5,000: settled ≤ 1 s', of(plain, OURS, 'restart', 'settled_s'), lambda x: x <= 1, '{:.1f} s'),
        ('restart at 5,000: first effect for a VM that waited ≤ 0.3 s', of(plain, OURS, 'restart', 'first_effect_s'), lambda x: x <= 0.3, '{:.2f} s'),
        ('restart at 5,000: ≤ 0.2 s CPU', of(plain, OURS, 'restart', 'usage.cpu_s'), lambda x: x <= 0.2, '{:.2f} s'),
    ]
    return [(what, '–', None) if x is None else (what, form.format(x), met(x)) for what, x, met, form in lines]


def gates(found):
    """Counts that must hold on any machine; what does not, in words."""
    wrong = []
    for name, (_, rows) in found.items():
        most = 6 if name.startswith('children') else 3
        for operator, result in rows:
            if operator != OURS:
                continue
            scenario = result['scenario']
            if not result['complete']:
                wrong.append(f'{name}, {scenario}: did not come to its end')
            # A write that meets another one is made again: one in fifty at most.
            elif scenario.startswith('burst') and value(result, '=writes') > most * 1.02:
                wrong.append(f"{name}, {scenario}: {value(result, '=writes'):.3f} writes per VM, {most} are due")
            elif scenario.startswith('delete') and value(result, '=writes') > 2 * 1.02:
                wrong.append(f"{name}, {scenario}: {value(result, '=writes'):.3f} writes per VM, 2 at most are due")
            elif scenario.startswith('idle') and value(result, '=all-writes') > 0:
                wrong.append(f"{name}, {scenario}: {value(result, '=all-writes')} writes at rest")
    return wrong


def about(found):
    runs = [run for all_runs, _ in found.values() for run in all_runs]
    days = sorted(run['at'][:10] for run in runs)
    model = next((l.split(':')[1].strip() for l in open('/proc/cpuinfo') if l.startswith('model name')), platform.machine())
    go = subprocess.run(['go', 'version'], capture_output=True, text=True).stdout.split()
    rust = subprocess.run(['rustc', '--version'], capture_output=True, text=True).stdout.split()
    day = days[0] if days[0] == days[-1] else f'{days[0]} to {days[-1]}'
    return f'{day}; {runs[0]["cores"]} cores ({model}) for everything; Rust {rust[1]}; Go {go[2].removeprefix("go")}.'


HEAD = '''# Benchmark

Made by `scripts/bench/run`; raw results in `docs/benchmark/`. This operator and two written in Go on controller-runtime
(*idiomatic*: the guide's operator as a careful reader would finish it; *lean*: the fewest writes, calls and bytes that
controller-runtime allows; `plain`: without owned objects; `feed`: with the provider's change feed) run in turn, each on
a fresh kube-apiserver with etcd and a fresh provider, 5 workers each, and are measured from outside: audit log,
provider, `/proc`. Medians with range. Operator, API server, etcd, provider and loader share the machine, so the rate of
a burst is for the most part the API server's. Limits of the provider's use are lifted. This operator writes Events and
conditions, the peers write neither.
'''


def main():
    args = [a for a in sys.argv[1:] if a != '--check']
    folder = pathlib.Path(args[0] if args else 'docs/benchmark')
    found = load(folder)
    if not found:
        sys.exit(f'page.py: no results in {folder}')
    out = [HEAD, about(found), '\n## Goals\n', '| goal | reached | |', '|---|---|---|']
    words = {True: 'met', False: '**missed**', None: 'not measured'}
    out += [f'| {what} | {reached} | {words[met]} |' for what, reached, met in goals(found)]
    wrong = gates(found)
    out.append('\nCounts that must hold (writes per VM and at rest): ' + ('all do.' if not wrong else '; '.join(wrong) + '.'))
    for name, (_, rows) in found.items():
        out.append(f'\n## {TITLES[name]}')
        out += tables(rows)
    notes = folder / 'notes.md'
    if notes.exists():
        out.append('\n' + notes.read_text().strip())
    text = '\n'.join(out) + '\n'
    if '--check' in sys.argv:
        print(text)
    else:
        pathlib.Path('docs/benchmark.md').write_text(text)
        print('docs/benchmark.md is written')
    if wrong:
        sys.exit('page.py: ' + '; '.join(wrong))


if __name__ == '__main__':
    main()
