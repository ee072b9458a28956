"use strict";
/* Draws the charts of a report out of the JSON in #data. What comes from logs reaches the page as text nodes only. */
const data = JSON.parse(document.getElementById("data").textContent);
const whole = [0, Math.max(data.span_ms, 1)];
const view = { from: whole[0], to: whole[1] };
const ROW = 16, LEFT = 190, RIGHT = 12, FIELDS = 8;
const SINCE = 0, LEADER = 1, ISR = 2, REPLICAS = 3, FLAGS = 4, EPOCH = 5, FILE = 6, LINE = 7;
const INFERRED = 1, UNDER_REPLICATED = 4, UNDER_MIN_ISR = 8;
const NONE = -1, UNKNOWN = -2, GONE = -3;
const PALETTE = [
  "#4e79a7", "#59a14f", "#b07aa1", "#76b7b2", "#edc948", "#9c755f", "#f28e2b", "#8cd17d", "#d37295", "#a0cbe8",
  "#86bcb6", "#b6992d", "#d4a6c8", "#79706e", "#499894", "#fabfd2", "#bab0ac", "#5b6abf",
];
const $ = (id) => document.getElementById(id);
const element = (tag, text, className) => {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = text;
  if (className) node.className = className;
  return node;
};
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
let colours = {};
function readColours() {
  for (const name of ["ground", "raised", "line", "text", "faint", "accent", "bad", "good", "away", "lost", "shut", "up", "controller", "stopping", "unknown"])
    colours[name] = style("--" + name);
}
const controllers = [...new Set(data.terms.map((term) => term.id))].filter((id) => data.broker_order[id] === undefined);
const colourOf = (node) => PALETTE[(data.broker_order[node] ?? data.brokers.length + controllers.indexOf(node)) % PALETTE.length];

/* ---- times: milliseconds since the begin of the report ---- */
const pad = (number, width) => String(number).padStart(width, "0");
function clock(ms, precise = true) {
  const t = new Date(data.begin_ms + ms);
  const text = `${pad(t.getUTCHours(), 2)}:${pad(t.getUTCMinutes(), 2)}:${pad(t.getUTCSeconds(), 2)}`;
  return precise ? `${text}.${pad(t.getUTCMilliseconds(), 3)}` : text;
}
const day = (ms) => new Date(data.begin_ms + ms).toISOString().slice(0, 10);
const iso = (ms) => new Date(data.begin_ms + ms).toISOString();
const IS_WITHIN_A_DAY = day(0) === day(data.span_ms);
const moment = (ms) => (IS_WITHIN_A_DAY ? clock(ms) : `${day(ms)} ${clock(ms)}`);
const dated = (ms) => `${day(ms)} ${clock(ms)} UTC`;
function length(ms) {
  if (ms === null || ms === undefined) return "unknown";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60000);
  return minutes < 60 ? `${minutes} min ${Math.floor(ms / 1000) % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
const STEPS = [1, 5, 10, 50, 100, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 108e5, 216e5, 432e5, 864e5, 6048e5];
function ticks(width) {
  const span = view.to - view.from;
  const step = STEPS.find((one) => (one / span) * width > 86) ?? STEPS[STEPS.length - 1];
  const first = Math.ceil((view.from + data.begin_ms) / step) * step - data.begin_ms;
  const marks = [];
  for (let at = first; at <= view.to; at += step) marks.push([at, (at + data.begin_ms) % 864e5 === 0 ? day(at) : clock(at, step < 1000)]);
  return marks;
}

/* ---- canvases ---- */
let printing = null;  // what comes back after printing: the part in view, the theme, and what of the page is closed
let left = LEFT;  // of the canvas that is being drawn
const leftOf = (canvas) => Number(canvas.dataset.left ?? Math.min(LEFT, Math.round(canvas.parentElement.clientWidth * 0.3)));
function prepare(canvas, width, height) {
  left = leftOf(canvas);
  const ratio = printing ? PRINT.ratio : window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = "11px system-ui, sans-serif";
  pen.textBaseline = "middle";
  return pen;
}
const PRINT = { width: 960, lanes: 60, ratio: 2 };  // px of a chart, that a page shrinks to its own; lanes; dots per px
const widthOf = (canvas) => printing ? PRINT.width : Math.min(canvas.parentElement.clientWidth, $("lanes").clientWidth);  // lanes have a scroll bar: one moment is at one place in all charts
function scale(width) {
  const begin = left, factor = Math.max(width - left - RIGHT, 50) / (view.to - view.from);
  return (at) => begin + (at - view.from) * factor;
}
function axis(pen, x, width, top, height) {
  pen.strokeStyle = colours.line;
  pen.fillStyle = colours.faint;
  pen.lineWidth = 1;
  for (const [at, text] of ticks(width - left - RIGHT)) {
    const place = Math.round(x(at)) + 0.5;
    pen.beginPath(); pen.moveTo(place, top); pen.lineTo(place, height); pen.stroke();
    if (place + 3 + pen.measureText(text).width < width) pen.fillText(text, place + 3, 9);
  }
}
function clipped(pen, width, height, draw) {
  pen.save();
  pen.beginPath(); pen.rect(left, 0, width - left - RIGHT, height); pen.clip();
  draw();
  pen.restore();
}
function shorten(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let end = text.length;
  while (end > 1 && pen.measureText(text.slice(0, end) + "…").width > room) end -= 1;
  return text.slice(0, end) + "…";
}
function shortenName(pen, name, room) {  // the number of the partition stays
  const end = name.lastIndexOf("-"), number = name.slice(end);
  return pen.measureText(name).width <= room ? name : shorten(pen, name.slice(0, end), room - pen.measureText(number).width) + number;
}
function block(pen, x, from, to, y, height, colour) {
  const begin = Math.max(x(from), left - 2), end = Math.max(x(to), x(from) + 1.5);
  if (end < left || begin > left + 1e5) return;
  pen.fillStyle = colour;
  pen.fillRect(begin, y, Math.max(end - begin, 1.5), height);
}

/* ---- brokers ---- */
const brokerRow = 22;
const isOfZooKeeper = (term) => term.mode === "zookeeper";
const terms = [...data.terms.filter((term) => !isOfZooKeeper(term)), ...data.terms.filter(isOfZooKeeper)];  // in a migration both overlap: ZooKeeper's are in charge, and drawn last
const endOfTerm = (term) => term.until ?? data.span_ms;
function inChargeSince(term) {  // KRaft's from the end of ZooKeeper's that reign as it is elected
  const others = isOfZooKeeper(term) ? [] : terms.filter(isOfZooKeeper);
  return others.reduce((since, other) => (other.since <= since && since < endOfTerm(other) ? endOfTerm(other) : since), term.since);
}
function drawBrokers() {
  const canvas = $("brokers"), width = widthOf(canvas), height = 20 + brokerRow * (data.brokers.length + 1);
  const pen = prepare(canvas, width, height), x = scale(width);
  axis(pen, x, width, 18, height);
  const label = (text, row) => { pen.fillStyle = colours.text; pen.fillText(shorten(pen, text, left - 16), 10, 20 + brokerRow * row + brokerRow / 2); };
  label("controller", 0);
  data.brokers.forEach((broker, row) => label(`broker ${broker.id}`, row + 1));
  clipped(pen, width, height, () => {
    for (const term of terms) {
      if (inChargeSince(term) >= endOfTerm(term)) continue;
      block(pen, x, inChargeSince(term), endOfTerm(term), 24, brokerRow - 8, colourOf(term.id));
      const begin = Math.max(x(inChargeSince(term)), left), room = x(term.until ?? data.span_ms) - begin - 8;
      if (room > 14) { pen.fillStyle = "#111"; pen.fillText(shorten(pen, `${term.id}, epoch ${term.epoch}`, room), begin + 4, 24 + (brokerRow - 8) / 2); }
      if (term.active !== null && term.active > term.since) block(pen, x, term.since, term.active, 24, 3, colours.stopping);
    }
    data.brokers.forEach((broker, row) => {
      const y = 24 + brokerRow * (row + 1);
      block(pen, x, 0, data.span_ms, y, brokerRow - 8, colours.away);
      broker.spans.forEach((span, i) => {
        const end = span.until ?? data.span_ms, back = broker.spans[i + 1]?.since ?? data.span_ms;
        const isShutDown = span.ended_by === "controlled_shutdown";
        if (span.until !== null && back > span.until) block(pen, x, span.until, back, y, brokerRow - 8, isShutDown ? colours.shut : colours.lost);
        block(pen, x, span.since, end, y, brokerRow - 8, colours.up);
        if (span.stopping !== null) block(pen, x, span.stopping, end, y, brokerRow - 8, colours.stopping);
        if (span.until !== null) block(pen, x, span.until, span.until, y - 2, brokerRow - 4, isShutDown ? colours.stopping : colours.bad);
      });
      for (const term of data.terms) if (term.id === broker.id) block(pen, x, term.since, term.until ?? data.span_ms, y + brokerRow - 10, 3, colours.controller);
    });
  });
}
function brokerAt(at, y) {
  const row = Math.floor((y - 20) / brokerRow);
  if (row === 0) {
    const term = terms.findLast((one) => one.since <= at && at < (one.until ?? data.span_ms + 1));
    return term && { tip: `controller ${term.id}, epoch ${term.epoch}\n${moment(term.since)} to ${term.until === null ? "the end" : moment(term.until)}`, open: () => showTerm(term) };
  }
  const broker = data.brokers[row - 1];
  if (!broker) return null;
  const span = broker.spans.find((one) => one.since <= at && at < (one.until ?? data.span_ms + 1));
  if (span) return { tip: `broker ${broker.id} up, ${moment(span.since)} to ${span.until === null ? "the end" : moment(span.until)}`, open: () => showSpan(broker, span) };
  const gone = broker.spans.filter((one) => one.until !== null && one.until <= at).pop();
  const back = broker.spans.find((one) => one.since > at);
  if (!gone) return { tip: `broker ${broker.id}: nothing known` };
  return { tip: `broker ${broker.id} away: ${words(gone.ended_by)}\n${moment(gone.until)} to ${back ? moment(back.since) : "the end"}`, open: () => showSpan(broker, gone) };
}
const words = (value) => (value ?? "reason unknown").replaceAll("_", " ");

/* ---- partitions ---- */
const partitions = data.partitions.map(([topic, partition, states], index) => ({
  index, states, partition, topic, name: `${data.topics[topic]}-${partition}`, offline: 0, wasLost: false, changes: 0, under: 0,
}));
const outagesOf = new Map();  // by number of the partition
for (const outage of data.outages) {
  if (!outagesOf.has(outage.partition)) outagesOf.set(outage.partition, []);
  outagesOf.get(outage.partition).push(outage);
}
const isLast = (one, state) => state + FIELDS >= one.states.length;
const endOf = (one, state) => (isLast(one, state) ? data.span_ms : one.states[state + FIELDS + SINCE]);
const openOutage = (one, s) =>  // the one in which the logs end: they may tell it for less than until their end
  isLast(one, s) && one.states[s + LEADER] === NONE ? outagesOf.get(one.index)?.find((outage) => outage.is_open) : undefined;
function sureTime(one, s) {
  const time = endOf(one, s) - one.states[s], open = openOutage(one, s);
  return open ? Math.max(0, Math.min(time, open.since + open.sure_ms - one.states[s])) : time;
}
const sure = (ms, isLeast) => (!isLeast ? length(ms) : ms ? `at least ${length(ms)}` : "an unknown time");
for (const one of partitions) {
  let leader = null;
  for (let s = 0; s < one.states.length; s += FIELDS) {
    const now = one.states[s + LEADER], time = sureTime(one, s);
    if (now === NONE) { one.offline += time; one.wasLost = true; }
    if (one.states[s + FLAGS] & UNDER_REPLICATED) one.under += time;
    if (leader !== null && now !== leader && now >= 0) one.changes += 1;
    leader = now;
  }
}
const byIndex = partitions.slice();
let shown = partitions;
function filterPartitions() {
  const text = $("search").value.trim().toLowerCase(), only = $("only").value, order = $("order").value;
  const tests = { all: () => true, offline: (one) => one.wasLost, under: (one) => one.under > 0, moved: (one) => one.changes > 0 };
  shown = byIndex.filter((one) => tests[only](one) && (!text || one.name.toLowerCase().includes(text)));
  if (order === "offline") shown.sort((a, b) => b.offline - a.offline || b.under - a.under || a.index - b.index);
  if (order === "under") shown.sort((a, b) => b.under - a.under || a.index - b.index);
  if (order === "moved") shown.sort((a, b) => b.changes - a.changes || a.index - b.index);
  tellCount();
  const width = $("lanes").clientWidth;
  sizeLanes();
  $("lanes").scrollTop = 0;
  if (width === $("lanes").clientWidth) drawPartitions(); else drawAll();  // the scroll bar went or came
}
function tellCount() {
  const hidden = printing && shown.length > PRINT.lanes ? `, the first ${PRINT.lanes} of them drawn` : "";
  $("count").textContent = `${shown.length.toLocaleString("en")} of ${partitions.length.toLocaleString("en")} partitions${hidden}`;
}
function sizeLanes() {
  const box = $("lanes");
  const height = Math.min(430, 20 + shown.length * ROW + 4);
  box.style.height = printing ? "auto" : `${Math.max(height, 60)}px`;
  $("spacer").style.height = `${Math.max(shown.length * ROW + 24 - box.clientHeight, 0)}px`;
}
function drawPartitions() {
  const canvas = $("partitions"), box = $("lanes"), width = widthOf(canvas);
  const height = printing ? 20 + Math.min(shown.length, PRINT.lanes) * ROW : box.clientHeight;
  const pen = prepare(canvas, width, height), x = scale(width);
  axis(pen, x, width, 18, height);
  const top = printing ? 0 : box.scrollTop, first = Math.floor(top / ROW);
  const last = Math.min(shown.length, first + Math.ceil(height / ROW) + 1);
  pen.save();
  pen.beginPath(); pen.rect(0, 19, width, height); pen.clip();
  for (let row = first; row < last; row += 1) {
    const one = shown[row], y = 20 + row * ROW - top;
    pen.fillStyle = one.wasLost ? colours.bad : colours.text;
    pen.fillText(shortenName(pen, one.name, left - 18), 10, y + ROW / 2);
  }
  clipped(pen, width, height, () => {
    for (let row = first; row < last; row += 1) drawLane(pen, x, shown[row], 20 + row * ROW - top);
  });
  pen.restore();
}
function drawLane(pen, x, one, y) {
  const room = ROW - 3;
  const states = one.states;
  for (let s = Math.max(0, find(one, view.from)); s < states.length; s += FIELDS) {
    const since = states[s];
    if (since > view.to) break;
    const until = endOf(one, s), leader = states[s + LEADER];
    if (leader === GONE) continue;
    if (leader === UNKNOWN) { block(pen, x, since, until, y + room / 2, 2, colours.unknown); continue; }
    if (leader === NONE) continue;
    const replicas = states[s + REPLICAS], size = data.isr_sizes[states[s + ISR]] ?? -1;
    const part = replicas > 0 && size >= 0 ? Math.max(size / replicas, 0.2) : 1;
    block(pen, x, since, until, y + 1 + room * (1 - Math.min(part, 1)), room * Math.min(part, 1), colourOf(leader));
  }
  // a time without a leader is drawn last: at least two pixels of it are seen
  for (let s = Math.max(0, find(one, view.from)); s < states.length && states[s] <= view.to; s += FIELDS) {
    if (states[s + LEADER] !== NONE) continue;
    const begin = Math.min(x(states[s]), x(view.to) - 2), end = Math.max(x(endOf(one, s)), begin + 2);
    pen.fillStyle = colours.bad;
    pen.fillRect(begin, y, end - begin, ROW - 1);
  }
}
function find(one, at) {  // the state that holds at a time; -1 before the first
  let low = 0, high = one.states.length / FIELDS - 1, found = -1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (one.states[middle * FIELDS] <= at) { found = middle; low = middle + 1; } else high = middle - 1;
  }
  return found * FIELDS;
}
const outageAt = (one, s) => outagesOf.get(one.index)?.find((outage) => outage.since <= one.states[s] && one.states[s] <= (outage.until ?? data.span_ms));
function refsOf(one, s) {  // lines that show a state; of one without a leader those of its outage, too
  const states = one.states, refs = states[s + FILE] >= 0 ? [[states[s + FILE], states[s + LINE]]] : [];
  for (const ref of outageAt(one, s)?.refs ?? []) if (!refs.some((other) => other[0] === ref[0] && other[1] === ref[1])) refs.push(ref);
  return refs;
}
function isrText(one, s) {  // who is in sync, and how many of how many: `1,3 (2 of 3 replicas)`
  const number = one.states[s + ISR], text = data.isrs[number], replicas = one.states[s + REPLICAS];
  if (text === undefined) return replicas > 0 ? `unknown (${replicas} replicas)` : "unknown";
  const size = data.isr_sizes[number];
  return `${text || "none"}${replicas > 0 ? ` (${size} of ${replicas} ${replicas === 1 ? "replica" : "replicas"})` : ""}`;
}
function leaderText(leader) { return leader === NONE ? "NO LEADER" : leader === UNKNOWN ? "leader unknown" : `leader ${leader}`; }
function partitionAt(at, y) {
  const row = Math.floor((y - 20 + $("lanes").scrollTop) / ROW), one = y < 20 ? undefined : shown[row];
  if (!one) return null;
  const s = find(one, at);
  if (s < 0 || one.states[s + LEADER] === GONE) return { tip: `${one.name}\nnot there, or not known` };
  const leader = one.states[s + LEADER];
  const tip = `${one.name}: ${leaderText(leader)}, ISR ${isrText(one, s)}\n${moment(one.states[s])} to ${isLast(one, s) ? "the end of the logs" : moment(endOf(one, s))}, ${sure(sureTime(one, s), openOutage(one, s))}`;
  return { tip, open: () => showState(one, s) };
}

/* ---- activity: partitions without a leader, under-replicated ---- */
function counts(test) {
  const changes = [];
  for (const one of partitions)
    for (let s = 0; s < one.states.length; s += FIELDS)
      if (test(one, s)) {
        changes.push([one.states[s], 1]);
        if (!isLast(one, s)) changes.push([endOf(one, s), -1]);
      }
  changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const steps = [];
  let sum = 0;
  for (const [at, change] of changes) {
    sum += change;
    if (steps.length && steps[steps.length - 1][0] === at) steps[steps.length - 1][1] = sum;
    else steps.push([at, sum]);
  }
  return steps;
}
const series = [
  ["under-replicated", "stopping", counts((one, s) => (one.states[s + FLAGS] & UNDER_REPLICATED) && one.states[s + LEADER] !== NONE)],
  ["without a leader", "bad", counts((one, s) => one.states[s + LEADER] === NONE)],
];
const mostAtOnce = () => Math.max(...series.map(([, , steps]) => steps.reduce((high, step) => Math.max(high, step[1]), 0)));
function drawActivity() {
  const canvas = $("activity"), width = widthOf(canvas), height = 92;
  const pen = prepare(canvas, width, height), x = scale(width);
  const most = mostAtOnce();
  axis(pen, x, width, 18, height);
  pen.fillStyle = colours.text;
  pen.fillText("partitions", 10, 30);
  pen.fillStyle = colours.faint;
  pen.fillText(`most: ${most.toLocaleString("en")}`, 10, 46);
  clipped(pen, width, height, () => {
    for (const [, colour, steps] of series) {
      pen.fillStyle = colours[colour];
      steps.forEach(([at, count], i) => {
        const end = i + 1 < steps.length ? steps[i + 1][0] : data.span_ms;
        const high = count && (count / most) * (height - 26);
        if (count && at <= view.to) pen.fillRect(Math.min(x(at), x(view.to) - 1.5), height - 2 - high, Math.max(x(end) - x(at), 1.5), high);
      });
    }
  });
}
function activityAt(at) {
  const now = series.map(([name, , steps]) => `${(steps.filter((step) => step[0] <= at).pop() ?? [0, 0])[1]} ${name}`);
  return { tip: `${moment(at)}\n${now.reverse().join(", ")}`, open: () => showMoment(at) };
}

/* ---- ISR churn, election latency ---- */
function drawChurn() {
  const canvas = $("churn"), width = widthOf(canvas), row = 20, height = 20 + row * Math.max(data.churn.brokers.length, 1) + 4;
  const pen = prepare(canvas, width, height), x = scale(width), most = Math.max(1, ...data.churn.cells.map((cell) => cell[2]));
  axis(pen, x, width, 18, height);
  pen.fillStyle = colours.text;
  data.churn.brokers.forEach((broker, i) => pen.fillText(`broker ${broker}`, 10, 20 + row * i + row / 2));
  if (!data.churn.cells.length) { pen.fillStyle = colours.faint; pen.fillText("no ISR change is in the logs", left, 32); }
  clipped(pen, width, height, () => {
    for (const [bucket, broker, changes] of data.churn.cells) {
      const from = bucket * data.churn.width_ms;
      pen.globalAlpha = 0.25 + 0.75 * Math.sqrt(changes / most);
      block(pen, x, from, from + data.churn.width_ms, 21 + row * broker, row - 3, colours.bad);
    }
    pen.globalAlpha = 1;
  });
}
const times = (count) => (count === 1 ? "once" : `${count.toLocaleString("en")} times`);
function churnAt(at, y) {
  const broker = Math.floor((y - 20) / 20), bucket = Math.floor(at / data.churn.width_ms);
  const cell = data.churn.cells.find((one) => one[0] === bucket && one[1] === broker);
  return cell && { tip: `broker ${data.churn.brokers[broker]}: out of or back into an ISR ${times(cell[2])}\n${length(data.churn.width_ms)} from ${moment(bucket * data.churn.width_ms)}`, open: () => showChurn(cell) };
}
const LATENCY_DECADES = Math.max(6, Math.log10(data.elections.reduce((most, one) => Math.max(most, one[1]), 1)));
function latencyPlace(ms, height) { return height - 8 - (Math.log10(Math.max(ms, 1)) / LATENCY_DECADES) * (height - 32); }
function drawLatency() {
  const canvas = $("latency"), width = widthOf(canvas), height = 190;
  const pen = prepare(canvas, width, height), x = scale(width);
  axis(pen, x, width, 18, height);
  for (const [ms, text] of [[1, "1 ms"], [100, "100 ms"], [1000, "1 s"], [10000, "10 s"], [60000, "1 min"], [6e5, "10 min"], [36e5, "1 h"], [864e5, "1 day"]]) {
    if (Math.log10(ms) > LATENCY_DECADES) break;
    const y = latencyPlace(ms, height);
    pen.fillStyle = colours.faint;
    pen.fillText(text, 10, y);
    pen.fillStyle = colours.line;
    pen.fillRect(left, y, width - left - RIGHT, 0.5);
  }
  pen.fillStyle = colours.faint;
  if (!data.elections.length) pen.fillText("no latency is in the logs", left + 8, 40);
  clipped(pen, width, height, () => {
    for (const [at, ms, unclean] of data.elections) {
      pen.fillStyle = unclean ? colours.bad : colours.accent;
      pen.globalAlpha = 0.65;
      pen.beginPath(); pen.arc(x(at), latencyPlace(ms, height), unclean ? 4 : 3, 0, 7); pen.fill();
    }
    pen.globalAlpha = 1;
  });
}
function latencyAt(at, y) {
  left = leftOf($("latency"));
  const width = widthOf($("latency")), x = scale(width), height = 190;
  let best = null, near = 9;
  for (const one of data.elections) {
    const apart = Math.hypot(x(one[0]) - x(at), latencyPlace(one[1], height) - y);
    if (apart < near) { near = apart; best = one; }
  }
  return best && { tip: `${byIndex[best[3]]?.name ?? ""}: leader after ${length(best[1])}${best[2] ? ", UNCLEAN" : ""}\n${moment(best[0])}`, open: () => byIndex[best[3]] && showState(byIndex[best[3]], find(byIndex[best[3]], best[0])) };
}

/* ---- details: what was clicked, and its lines ---- */
function logLines(box, refs, chosen) {  // chosen: undefined, or the number of the line that was asked for, 0 for none: then lines are numbered
  box.append(element("h4", refs.length ? "Log lines" : "No log line names it"));
  for (const [number, [file, line]] of refs.entries()) {
    const node = element("div", null, number + 1 === chosen ? "logline mono chosen" : "logline mono");
    node.append(element("b", `${chosen === undefined ? "" : `[${number + 1}] `}${data.files[file] ?? "?"}:${line}`));
    const text = data.lines[`${file}:${line}`];
    node.append(document.createTextNode(text === undefined ? "" : `\n${text}`));
    box.append(node);
  }
}
let opener = null;
function show(title, facts, refs, command, zoom, chosen) {
  const box = $("details");
  opener = opener ?? document.activeElement;
  $("tip").style.display = "none";
  box.replaceChildren();
  const close = element("button", "Close", "close");
  close.addEventListener("click", hide);
  box.append(close, element("h3", title));
  const list = element("dl");
  for (const [name, value] of facts) if (value !== null && value !== undefined) list.append(element("dt", name), element("dd", value));
  box.append(list);
  if (zoom) {
    const button = element("button", "Zoom to it");
    button.addEventListener("click", () => setView(zoom[0] - (zoom[1] - zoom[0]) * 0.4 - 500, zoom[1] + (zoom[1] - zoom[0]) * 0.4 + 500));
    box.append(button);
  }
  logLines(box, refs, chosen);
  if (command) box.append(element("h4", "All of its story"), element("code", command));
  box.style.display = "block";
  box.scrollTop = 0;
  box.querySelector(".chosen")?.scrollIntoView({ block: "center" });
  close.focus({ preventScroll: true });
}
function hide() { $("details").style.display = "none"; if (opener) opener.focus({ preventScroll: true }); opener = null; }
function quoted(name) { return /^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`; }
function showState(one, s) {
  const states = one.states, leader = states[s + LEADER];
  show(`${one.name}: ${leaderText(leader)}`, [
    ["from", dated(states[s])],
    ["to", isLast(one, s) ? "the end of the logs" : dated(endOf(one, s))],
    ["for", sure(sureTime(one, s), openOutage(one, s))],
    ["leader epoch", states[s + EPOCH] >= 0 ? String(states[s + EPOCH]) : "unknown"],
    ["ISR", isrText(one, s)],
    ["below min.insync.replicas", states[s + FLAGS] & UNDER_MIN_ISR ? "yes" : null],
    ["known from", states[s + FLAGS] & INFERRED ? "its neighbours: no line prints this state in full" : "log lines"],
    ["in all", `${one.wasLost ? sure(one.offline, openOutage(one, states.length - FIELDS)) : "no time known"} without a leader, ${one.changes} ${one.changes === 1 ? "change" : "changes"} of leader`],
  ], refsOf(one, s), `kafka-rewind why ${quoted(one.name)} --at ${iso(states[s])}${data.options}`, [states[s], endOf(one, s)]);
}
const MOST_NAMED = 40;
function showMoment(at) {
  const there = (test) => partitions.filter((one) => { const s = find(one, at); return s >= 0 && test(one, s); });
  const names = (some) => some.slice(0, MOST_NAMED).map((one) => one.name).join(", ") + (some.length > MOST_NAMED ? ` and ${(some.length - MOST_NAMED).toLocaleString("en")} more` : "") || "none";
  const offline = there((one, s) => one.states[s + LEADER] === NONE);
  const under = there((one, s) => (one.states[s + FLAGS] & UNDER_REPLICATED) && one.states[s + LEADER] !== NONE);
  const refs = offline.slice(0, 8).flatMap((one) => refsOf(one, find(one, at)).slice(0, 1));
  show(`At ${dated(at)}`, [[`${offline.length.toLocaleString("en")} without a leader`, names(offline)], [`${under.length.toLocaleString("en")} under-replicated`, names(under)]], refs, null, null);
}
function showChurn([bucket, broker, changes, left, names, refs]) {
  const from = bucket * data.churn.width_ms, id = data.churn.brokers[broker];
  show(`broker ${id}: ISR changes`, [
    ["from", dated(from)], ["for", length(data.churn.width_ms)], ["left an ISR", times(left)], ["joined one", times(changes - left)], ["partitions", names],
  ], refs, `kafka-rewind why broker ${id} --at ${iso(from)}${data.options}`, [from, from + data.churn.width_ms]);
}
function showSpan(broker, span) {
  show(`broker ${broker.id}`, [
    ["there from", `${dated(span.since)}${span.started_as ? `, ${words(span.started_as)}` : ""}`],
    ["to", span.until === null ? "the end of the logs" : `${dated(span.until)}, ${words(span.ended_by)}`],
    ["shutting down from", span.stopping === null ? null : dated(span.stopping)],
  ], span.refs, `kafka-rewind why broker ${broker.id} --at ${iso(span.until ?? span.since)}${data.options}`, [span.since, span.until ?? data.span_ms]);
}
function showTerm(term) {
  show(`controller ${term.id}, epoch ${term.epoch}`, [
    ["mode", term.mode === null ? null : isOfZooKeeper(term) ? "ZooKeeper" : "KRaft"],
    ["elected", dated(term.since)],
    ["ready", term.active === null ? "never logged" : dated(term.active)],
    ["to", term.until === null ? "the end of the logs" : `${dated(term.until)}, ${words(term.ended_by)}`],
  ], term.refs, `kafka-rewind why controller --at ${iso(term.since)}${data.options}`, [term.since, term.until ?? data.span_ms]);
}
const SHOWN = {
  outage: (one) => {
    const where = byIndex[one.partition];
    show(`${one.name}: no leader`, [
      ["from", dated(one.since)],
      ["to", one.until !== null ? `${one.is_until_known ? "" : "some time before "}${dated(one.until)}` : one.is_open ? "the end of the logs: STILL OFFLINE" : "unknown"],
      ["for", one.length],
      ["cause", one.cause ?? "unknown"],
      ["ended by", one.healed ?? (one.is_open ? null : "unknown")],
      ["failed elections", one.failed ? String(one.failed) : null],
      ["ISR when lost", one.isr],
    ], one.refs, `kafka-rewind why ${quoted(one.name)} --at ${iso(one.since)}${data.options}`, [one.since, one.until ?? data.span_ms]);
    if (where) { $("search").value = where.name; $("only").value = "all"; filterPartitions(); }
  },
  incident: (one, chosen) => show(one.title, [["severity", one.severity], ["from", dated(one.since)], ["to", one.until !== null ? dated(one.until) : one.is_open ? "the end of the logs" : "an unknown time"], ["story", one.story], ["partitions", one.names], ...one.steps.map(([at, what]) => [moment(at), what])], one.refs, null, [one.since, one.until ?? data.span_ms], chosen ?? 0),
  verdict: (one) => show(`${one.rule} is violated`, [["by", one.subject], ["at", one.at === null ? null : dated(one.at)], ["expected", one.expected], ["actual", one.actual], ["", one.explanation]], one.refs, null, null),
  unclean: (one) => show(`${one.name}: unclean election`, [["at", dated(one.at)], ["new leader", one.leader], ["ISR before", one.isr], ["lost records", one.lost]], one.refs, `kafka-rewind why ${quoted(one.name)} --at ${iso(one.at)}${data.options}`, [one.at - 5000, one.at + 5000]),
};

/* ---- view ---- */
function drawAll() { drawBrokers(); drawActivity(); drawPartitions(); drawChurn(); drawLatency(); }
function setView(from, to) {
  const least = 20;
  view.from = Math.max(whole[0], Math.min(from, whole[1] - least));
  view.to = Math.min(whole[1], Math.max(to, view.from + least));
  $("window").textContent = view.from === whole[0] && view.to === whole[1] ? "whole time" : `${dated(view.from)} to ${moment(view.to)}`;
  drawAll();
}
function zoom(factor, at) {
  const middle = at ?? (view.from + view.to) / 2;
  setView(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
}
function timeAt(canvas, clientX) {
  const begin = leftOf(canvas), plot = Math.max(canvas.clientWidth - begin - RIGHT, 50);
  return view.from + ((clientX - canvas.getBoundingClientRect().left - begin) / plot) * (view.to - view.from);
}
let clicked = -Infinity;  // when a chart was
function wholeTime() { hide(); setView(...whole); }
$("details").addEventListener("dblclick", (event) => { if (event.timeStamp - clicked < 600) wholeTime(); });  // its first click opened them under the pointer
function watch(id, hit) {
  const canvas = $(id), chart = canvas.closest(".chart"), tip = $("tip");
  const selection = element("div", null, "selection");
  chart.append(selection);
  let begin = null;
  const at = (event) => hit(timeAt(canvas, event.clientX), event.clientY - canvas.getBoundingClientRect().top);
  canvas.addEventListener("mousedown", (event) => { if (event.button === 0) begin = event.clientX; });
  canvas.addEventListener("mousemove", (event) => {
    const what = at(event);
    canvas.style.cursor = what && what.open ? "pointer" : "crosshair";
    tip.style.display = what ? "block" : "none";
    if (what) {
      tip.textContent = what.tip;
      tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8))}px`;
      tip.style.top = `${Math.max(4, Math.min(event.clientY + 16, window.innerHeight - tip.offsetHeight - 8))}px`;
    }
    if (begin !== null && Math.abs(event.clientX - begin) > 4) {
      const left = chart.getBoundingClientRect().left;
      selection.style.display = "block";
      selection.style.left = `${Math.min(begin, event.clientX) - left}px`;
      selection.style.width = `${Math.abs(event.clientX - begin)}px`;
    }
  });
  canvas.addEventListener("mouseleave", () => { tip.style.display = "none"; });
  window.addEventListener("mouseup", (event) => {
    if (begin === null) return;
    const start = begin;
    begin = null;
    selection.style.display = "none";
    if (Math.abs(event.clientX - start) > 4) {
      const ends = [timeAt(canvas, start), timeAt(canvas, event.clientX)].sort((a, b) => a - b);
      setView(ends[0], ends[1]);
    } else if (event.target === canvas) {
      const what = at(event);
      if (what && what.open) { clicked = event.timeStamp; what.open(); }
    }
  });
  canvas.addEventListener("dblclick", wholeTime);
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(canvas, event.clientX));
  }, { passive: false });
}
watch("brokers", brokerAt);
watch("activity", activityAt);
watch("partitions", partitionAt);
watch("churn", churnAt);
watch("latency", latencyAt);

let waiting = 0;
const soon = (draw) => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(draw); };
$("lanes").addEventListener("scroll", () => soon(drawPartitions));
$("search").addEventListener("input", filterPartitions);
$("only").addEventListener("change", filterPartitions);
$("order").addEventListener("change", filterPartitions);
$("in").addEventListener("click", () => zoom(0.5));
$("out").addEventListener("click", () => zoom(2));
$("reset").addEventListener("click", () => setView(...whole));
$("theme").addEventListener("click", () => {
  const isDark = (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  document.documentElement.dataset.theme = isDark ? "light" : "dark";
  redraw();
});
for (const node of document.querySelectorAll("[data-go]")) {
  const [kind, number, chosen] = node.dataset.go.split(":");
  const one = data[`${kind}s`][Number(number)];
  const go = () => { if (one) SHOWN[kind](one, chosen && Number(chosen)); };
  node.addEventListener("click", go);
  if (node.tagName === "TR") {
    node.tabIndex = 0;
    node.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();  // or the key goes on to the button Close, which has the focus from now on
      go();
    });
  }
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") hide();
  if (event.ctrlKey || event.metaKey || event.altKey) return;  // the browser's own keys
  if (["INPUT", "SELECT"].includes(document.activeElement.tagName)) return;
  const step = (view.to - view.from) / 5;
  if (event.key === "+") zoom(0.5);
  else if (event.key === "-") zoom(2);
  else if (event.key === "0") setView(...whole);
  else if (event.key === "ArrowLeft") setView(view.from - Math.min(step, view.from - whole[0]), view.to - Math.min(step, view.from - whole[0]));
  else if (event.key === "ArrowRight") setView(view.from + Math.min(step, whole[1] - view.to), view.to + Math.min(step, whole[1] - view.to));
});
function redraw() { readColours(); drawAll(); }
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
window.addEventListener("resize", () => { sizeLanes(); soon(redraw); });
window.addEventListener("beforeprint", () => {
  if (printing) return;
  const root = document.documentElement, closed = [...document.querySelectorAll("details:not([open])")];
  printing = { from: view.from, to: view.to, theme: root.dataset.theme, closed };
  root.dataset.theme = "light";  // paper is white
  for (const one of closed) one.open = true;
  readColours(); sizeLanes(); tellCount(); setView(...whole);
});
window.addEventListener("afterprint", () => {
  if (!printing) return;
  const { from, to, theme, closed } = printing;
  printing = null;
  if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
  for (const one of closed) one.open = false;
  readColours(); sizeLanes(); tellCount(); setView(from, to);
});
const legend = $("leaders");
for (const broker of data.brokers) {
  const item = element("span");
  const mark = element("i");
  mark.style.background = colourOf(broker.id);
  item.append(mark, document.createTextNode(`broker ${broker.id}`));
  legend.append(item);
}
if (partitions.some((one) => one.wasLost)) $("order").value = "offline";
readColours();
filterPartitions();
setView(...whole);
document.documentElement.dataset.ready = "yes";
