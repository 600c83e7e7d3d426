"use strict";
// Draws the page of `mergedb inspect` from its data, the JSON in the element "data" (inspect_page.cc). An element with
// data-if stays if that condition is true; one with data-draw gets what the function of that name returns. Texts of the
// data become text nodes and attributes, and never HTML.

const data = JSON.parse(document.getElementById("data").textContent);

// ---- texts and elements

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const thousands = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
const count = (number, one, many) => `${thousands(number)} ${number === 1 ? one : many}`;
const share = (part, whole) => (whole === 0 ? 0 : part / whole);
const percent = (value) => (value > 0 && value < 0.01 ? "less than 1 %" : `${(100 * value).toFixed(0)} %`);
const most = (numbers) => numbers.reduce((a, b) => Math.max(a, b), 1);

function bytes(number) {
  if (number < 1000) return `${number} B`;
  let unit = "";
  for (const next of ["kB", "MB", "GB", "TB"]) {
    if (number < 999.95) break;
    number /= 1000;
    unit = next;
  }
  return `${number.toFixed(1)} ${unit}`;
}

function duration(seconds) {
  if (seconds >= 2 * 86400) return `${(seconds / 86400).toFixed(0)} days`;
  if (seconds >= 5400) return `${(seconds / 3600).toFixed(1)} h`;
  if (seconds >= 90) return `${(seconds / 60).toFixed(0)} min`;
  if (seconds >= 1) return `${seconds.toFixed(1)} s`;
  return seconds >= 0.001 ? `${(seconds * 1e3).toFixed(1)} ms` : `${(seconds * 1e6).toFixed(1)} us`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
function clock(seconds) {
  return new Date(seconds * 1000).toISOString().slice(11, 19);
}
function day(seconds) {
  const date = new Date(seconds * 1000);
  return `${String(date.getUTCDate()).padStart(2, "0")} ${MONTHS[date.getUTCMonth()]}`;
}

// A line above a drawing: `left` at its beginning and `right` at its end.
function caption(left, ...right) {
  return make("div", {class: "name"}, make("span", {}, ...[left].flat()), ...right);
}
const soft = (text) => make("span", {class: "soft"}, text);
const bar = (...parts) => make(
    "div", {class: "bar"},
    ...parts.map(([width, color]) => make("i", {class: color, style: `width:${(100 * width).toFixed(2)}%`})));
// Each column is a title and parts {color, height} from 0 to 1, the highest one first.
function columns(kind, list) {
  const part = ({color, height}) => make("b", {class: color, style: `height:${(100 * height).toFixed(1)}%`});
  return make(
      "div", {class: `columns ${kind}`}, ...list.map(({title, parts}) => make("i", {title}, ...parts.map(part))));
}
function table(attributes, names, rows) {
  const row = (tag, cells) => make("tr", {}, ...cells.map((cell) => make(tag, {}, cell)));
  return make("table", attributes, row("th", names), ...rows.map((cells) => row("td", cells)));
}

// ---- compactions

const REASONS = {
  tier_full: "enough new runs have gathered; together they become one",
  space: "the newer runs hold so much that old versions below them take too much disk space",
  adjacent_full: "four neighbouring levels are full; they become one",
  prefix: "the full levels go into the first one that has room",
  idle: "nobody writes, so there is time to make fewer runs for faster reads",
  manual: "a program asked for it",
  tombstones: "tombstones are most of a part of the oldest run",
  tombstone_scan: "a scan passed over many deleted keys",
  disjoint: "the runs have no common range of keys: tables only change their run, and nothing is rewritten",
  blob_garbage: "blob files hold too much garbage",
  small_blobs: "many small blob files become one",
  blob_order: "scans read many values one by one; the values come into key order",
  reads: "searches had to look into many runs; fewer runs make them faster",
};
const explain = (reason) => REASONS[reason] ?? reason;

function pickText(pick) {
  if (pick === null) return "No compaction is needed.";
  let text = "";
  if (pick.first !== undefined) {
    text = pick.first === pick.last ? `Run ${pick.first}` : `Runs ${pick.first} to ${pick.last}`;
    if (pick.lower !== undefined || pick.upper !== undefined) {
      text += `, but only keys ${pick.lower === undefined ? "" : `from ${pick.lower} `}`;
      text += pick.upper === undefined ? "to the end" : `up to ${pick.upper}`;
    }
    text += `, ${bytes(pick.input_bytes)}, would ${pick.is_move ? "move. " : "be read and become one run. "}`;
  }
  text += `The reason: ${explain(pick.reason)}.`;
  if (pick.blob_files > 0) text += ` It would also collect ${count(pick.blob_files, "blob file", "blob files")}.`;
  return text;
}

// ---- runs

const THICK_MAX = 6;  // more runs of one level are thin lanes
const LANES_MAX = 80;
const sizeOf = (run) => run.bytes + run.value_bytes;

// How dark a piece is: its bytes for its width, beside the mean of the tree. 1 is the palest.
function darkness(piece) {
  const density = share(piece.bytes, data.tree_bytes) / piece.width;
  return density < 0.02 ? 1 : density < 0.1 ? 2 : density < 0.4 ? 3 : 4;
}

function lane(run, number) {
  const draw = (piece) => make(
      "i", {
        class: `d${darkness(piece)}`,
        style: `left:${(100 * piece.left).toFixed(3)}%;width:${(100 * piece.width).toFixed(3)}%`,
        title: `run ${number}, table ${piece.table}: ${bytes(piece.bytes)}, ${
                   count(piece.entries, "entry", "entries")}, ` +
            `${count(piece.tombstones, "tombstone", "tombstones")}, up to ${piece.largest}`,
      },
      make("u", {style: `height:${(100 * share(piece.tombstones, piece.entries)).toFixed(0)}%`}));
  return make("div", {class: "lane"}, ...run.pieces.map(draw));
}

function thickRun(run, number) {
  const place = data.runs.length === 1 ? " (the only one)" :
      number === 1                     ? " (the newest)" :
      number === data.runs.length      ? " (the oldest, most data comes to rest here)" :
                                         "";
  let size = `${bytes(sizeOf(run))}, ${count(run.entries, "entry", "entries")}`;
  if (run.range_deletes > 0) size += `, ${count(run.range_deletes, "range delete", "range deletes")}`;
  return make(
      "div", {class: run.is_next ? "row next" : "row"}, caption(`run ${number}${place}`, soft(size)),
      lane(run, number));
}

// The runs of one level as thin lanes under one caption.
function thinRuns(runs, first) {
  const sum = (of) => runs.reduce((all, run) => all + of(run), 0);
  const text = `runs ${first + 1}${first === 0 ? " (the newest)" : ""} to ${first + runs.length}: ` +
      (runs[0].level === 0 ? "as they came from memory" : "made by compactions");
  const size = `${bytes(sum(sizeOf))}, ${count(sum((run) => run.entries), "entry", "entries")}`;
  const lanes =
      runs.slice(0, LANES_MAX)
          .map((run, i) => make("div", {class: run.is_next ? "thin next" : "thin"}, lane(run, first + i + 1)));
  const left = runs.length - lanes.length;
  const more = left === 0 ?
      [] :
      [make("p", {class: "soft"}, `${thousands(left)} more are not drawn; the table below has them.`)];
  return [make("div", {class: "row"}, caption(text, soft(size))), ...lanes, ...more];
}

// ---- reads and writes along the keys

function heatOf(noun, title) {
  const heat = data.heat[noun];
  if (heat.calls === 0) return [caption(`No ${noun} in the last ten minutes.`)];
  const text = `${title} of the keys here: about ${thousands(heat.calls)} in the last ${duration(heat.age_seconds)}. `;
  const {hottest} = heat;
  const words = hottest === null ? ["They go about evenly to all keys."] : [
    `Half of them go to ${percent(hottest.half_width)} of the data. The hottest range is `,
    hottest.from === "" ? "the first key" : make("b", {}, hottest.from),
    " to ",
    ...(hottest.to === "" ? ["the end"] : ["before ", make("b", {}, hottest.to)]),
    `, with ${percent(hottest.share)} of the ${noun}.`,
  ];
  const all = heat.columns.reduce((a, b) => a + b, 0), highest = most(heat.columns);
  return [
    caption([text, ...words]),
    columns("low", heat.columns.map((calls) => ({
                                      title: `${percent(share(calls, Math.max(1, all)))} of the ${noun}`,
                                      parts: [{color: noun === "reads" ? "data" : "old", height: calls / highest}],
                                    })))
  ];
}

// ---- history

const CAUSES = {
  memory: "writers waited for memory: a flush had to end first",
  wal: "writers waited for room in the write-ahead log",
  delay: "the database slowed writers down, so that flushes and compactions keep up",
};

function historyText() {
  const {history} = data;
  let text =
      `${count(history.flushes, "flush", "flushes")} wrote ${bytes(history.flushed_bytes)} from memory to new runs. `;
  if (history.stalls === 0) text += "Writers never waited long. ";
  for (const [cause, seconds] of Object.entries(history.stall_causes))
    text += `For ${duration(seconds)} in all, ${CAUSES[cause] ?? "writers waited"}. `;
  if (history.slow_calls > 0)
    text += `${count(history.slow_calls, "call was", "calls were")} slow; the slowest one took ${
        duration(history.longest_call_seconds)}. `;
  return text;
}

function historyChart() {
  const {history} = data;
  const written = most(history.columns.map((each) => each.flushed_bytes + each.compacted_bytes));
  const longest = history.columns.reduce((a, each) => Math.max(a, each.stall_seconds), 1e-6);
  const width = (history.to - history.from) / history.columns.length;
  const titled = (draw) => history.columns.map((each, i) => {
    const {text, parts} = draw(each);
    return {title: `${clock(history.from + i * width)} and the next ${duration(width)}: ${text}`, parts};
  });
  const drawing = [
    caption(
        `Bytes written, highest column ${bytes(written)}`,
        make(
            "span", {}, make("span", {class: "key data"}), "flushes", make("span", {class: "key old"}), "compactions")),
    columns("", titled((each) => ({
                         text: `${bytes(each.flushed_bytes)} flushed, ${bytes(each.compacted_bytes)} compacted`,
                         parts: [
                           {color: "old", height: each.compacted_bytes / written},
                           {color: "data", height: each.flushed_bytes / written}
                         ],
                       }))),
  ];
  if (history.stalls > 0) {
    drawing.push(
        caption(`Time in which writers waited or were slowed down, highest column ${duration(longest)}`),
        columns("low", titled((each) => ({
                                text: `writers waited ${duration(each.stall_seconds)}`,
                                parts: [{color: "dead", height: each.stall_seconds / longest}],
                              }))));
  }
  const label = (at) => (history.to - history.from < 600 ? clock(at) : `${day(at)} ${clock(at).slice(0, 5)}`);
  const places = [label(history.from), label((history.from + history.to) / 2), `${label(history.to)} UTC`];
  return [...drawing, make("div", {class: "axis"}, ...places.map((text) => make("span", {}, text)))];
}

function historyCompactions() {
  const {compactions} = data.history;
  if (compactions.length === 0) return make("p", {}, "No compaction ran in this time.");
  const names =
      ["compactions, by reason", "rewrote", "moved only", "read", "written", "entries dropped", "time", "failed"];
  return make(
      "div", {class: "scroll"},
      table(
          {}, names,
          compactions.map(
              (each) =>
                  [explain(each.reason), thousands(each.rewrites), thousands(each.moves), bytes(each.bytes_read),
                   bytes(each.bytes_written), thousands(each.entries_dropped), duration(each.seconds),
                   thousands(each.failed)])));
}

// ---- the parts of the page

const CONDITIONS = {
  runs: data.runs.length > 0,
  noRuns: data.runs.length === 0,
  live: data.live !== null,
  noLive: data.live === null,
  heat: data.heat !== null,
  noHeat: data.live !== null && data.heat === null,
  blobFiles: data.blob_files.length > 0,
  history: data.history !== null,
  noHistory: data.history === null,
  lazy: data.style === "lazy",
  cascade: data.style === "cascade",
};

const PARTS = {
  directory: () => data.directory,
  disk: () => `${bytes(data.disk_bytes)} on the disk, in ${count(data.disk_files, "file", "files")}`,
  style: () => data.style,
  entries: () => count(data.entries, "entry", "entries"),
  cards() {
    const card = (value, name) => make("div", {class: "card"}, make("b", {}, value), soft(name));
    const cards = [
      card(thousands(data.runs.length), "sorted runs: a read may have to look into each of them"),
      card(bytes(data.table_bytes), `in ${count(data.tables, "table", "tables")}`),
      card(`${(100 * share(data.tombstones, data.entries)).toFixed(1)} %`, "of the entries are tombstones"),
    ];
    if (data.range_deletes > 0)
      cards.push(card(thousands(data.range_deletes), "range deletes: each marks all keys of a range as deleted"));
    if (data.blob_files.length > 0) {
      cards.push(
          card(
              bytes(data.record_bytes),
              `of large values, in ${count(data.blob_files.length, "blob file", "blob files")}`),
          card(
              `${(100 * share(data.garbage_bytes, data.record_bytes)).toFixed(0)} %`,
              "of the large values' bytes are garbage"));
    }
    return cards;
  },
  limits() {
    const {live} = data;
    let text = `${live.has_ended ? "The " : "It is open in "}${live.process}.`;
    if (!live.has_ended) {
      text += ` In each of the last seconds: ${count(live.writes, "write", "writes")}, ${
                  bytes(live.flush_bytes)} flushed to ` +
          `new runs, ${bytes(live.compaction_bytes)} written by compactions.`;
    }
    const findings = live.findings.map(
        ({text, advice}) =>
            make("p", {class: "limit"}, text, make("br", {}), make("b", {}, "To change it:"), ` ${advice}`));
    if (findings.length === 0) findings.push(make("p", {class: "limit fine"}, "Nothing limits the database."));
    const running = live.compactions.map(
        (each) => make(
            "div", {class: "row"},
            caption(
                `a compaction runs (${each.reason}, ${count(each.runs, "run", "runs")}, ${bytes(each.input_bytes)})`,
                soft(`${(100 * each.done).toFixed(0)} %`)),
            bar([each.done, "ok"])));
    return [make("p", {}, text), ...findings, ...running];
  },
  nextCompactions() {
    const names = ["While writes come", "One second after the last write", "Five seconds after it"];
    const texts = data.picks.map(pickText);
    return texts.map(
        (text, i) =>
            make("p", {}, make("b", {}, `${names[i]}.`), i > 0 && text === texts[i - 1] ? " The same." : ` ${text}`));
  },
  heat: () => [...heatOf("reads", "Reads"), ...heatOf("writes", "Writes")],
  overlap() {
    const highest = most(data.overlap);
    return [
      caption(`Runs that have a key here; highest column ${highest}`),
      columns("low", data.overlap.map((runs) => ({
                                        title: count(runs, "run", "runs"),
                                        parts: [{color: "old", height: runs / highest}],
                                      })))
    ];
  },
  keys: () => data.keys.map(
      (key, i) => make(
          "span", {class: i % 2 === 1 ? "odd" : "even", style: `left:${(100 * i / data.keys.length).toFixed(1)}%`},
          key)),
  largestKey: () => data.largest_key,
  runs() {
    const drawn = [];
    for (let first = 0, last = 0; first < data.runs.length; first = last) {
      while (last < data.runs.length && data.runs[last].level === data.runs[first].level) ++last;
      const level = data.runs.slice(first, last);
      drawn.push(
          ...(level.length > THICK_MAX ? thinRuns(level, first) : level.map((run, i) => thickRun(run, first + i + 1))));
    }
    return drawn;
  },
  blobBytes: () => `${bytes(data.value_bytes)} are in use, ${bytes(data.garbage_bytes)} are garbage.`,
  blobFiles() {
    const shownMax = 20;
    const files = [...data.blob_files].sort((a, b) => b.garbage_bytes - a.garbage_bytes);
    const largest = most(files.map((each) => each.record_bytes));
    const rows = files.slice(0, shownMax)
                     .map(
                         (each) => make(
                             "div", {class: "row"},
                             caption(
                                 `blob file ${each.number}`,
                                 soft(`${bytes(each.live_bytes)} in use, ${bytes(each.garbage_bytes)} garbage`)),
                             bar([each.live_bytes / largest, "data"], [each.garbage_bytes / largest, "dead"])));
    if (files.length > shownMax)
      rows.push(make("p", {class: "soft"}, `${files.length - shownMax} more blob files have less garbage.`));
    return rows;
  },
  historySpan: () => duration(data.history.to - data.history.from),
  historyText,
  historyChart,
  historyCompactions,
  historyNotes() {
    const {notes} = data.history;
    return notes.length === 0 ?
        [] :
        table({class: "notes"}, ["UTC", "also"], notes.map(({time, text}) => [`${day(time)} ${clock(time)}`, text]));
  },
  runTable: () => table(
      {}, ["run", "level", "tables", "tables' bytes", "large values", "entries", "tombstones", "range deletes"],
      data.runs.map(
          (run, i) => [i + 1, run.level, run.tables].map(thousands).concat(
              [bytes(run.bytes), bytes(run.value_bytes)],
              [run.entries, run.tombstones, run.range_deletes].map(thousands)))),
};

for (const element of document.querySelectorAll("[data-if]")) {
  if (!CONDITIONS[element.dataset.if]) element.remove();
}
for (const element of document.querySelectorAll("[data-draw]")) {
  element.append(...[PARTS[element.dataset.draw]()].flat());
}
