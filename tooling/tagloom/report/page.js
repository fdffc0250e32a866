"use strict";
(() => {
  const one = (id) => document.getElementById(id);
  const drawing = one("drawing"), about = one("about"), links = [...one("links").children];
  const idle = about.textContent;
  let here = 0, chosen = null;

  // A page that is served says so: it asks for its version now and then, and loads itself anew where that changed.
  const now = one("now");
  if (now) {
    const say = (words) => { const place = one("follows"); if (place.textContent !== words) place.textContent = words; };
    const calm = one("follows").textContent;
    setInterval(async () => {
      try {
        const answer = await fetch("version", { cache: "no-store" });
        if (!answer.ok) throw new Error(answer.status);
        if (await answer.text() !== now.dataset.version) location.reload(); else say(calm);
      } catch { say("Nobody serves this page any more: it shows what was."); }
    }, 2000);
  }

  // Colours: as the system has them, or as chosen here.
  for (const box of document.querySelectorAll("input[name=theme]")) {
    box.addEventListener("change", () => {
      if (box.value === "auto") document.documentElement.removeAttribute("data-theme");
      else document.documentElement.dataset.theme = box.value;
    });
  }

  for (const box of document.querySelectorAll("input[name=mode]")) {
    box.addEventListener("change", () => {
      drawing.dataset.mode = box.value;
      for (const mode of ["load", "busiest", "state"]) one("legend-" + mode).hidden = box.value !== mode;
    });
  }

  // Each hexadecimal digit of a tree holds four links, the lowest in its lowest bit.
  one("vlan").addEventListener("change", (event) => {
    const bits = event.target.selectedOptions[0].dataset.bits;
    drawing.classList.toggle("tree", bits !== undefined);
    links.forEach((link, i) => {
      link.classList.toggle("in", bits !== undefined && (parseInt(bits[i >> 2], 16) >> (i & 3) & 1) === 1);
    });
    about.textContent = bits === undefined ? idle : event.target.selectedOptions[0].textContent + " is shown; other links are faint.";
  });

  const tell = (link) => { about.textContent = link.getAttribute("aria-label"); };
  const choose = (i, focus) => {
    links[here].tabIndex = -1;
    here = (i + links.length) % links.length;
    links[here].tabIndex = 0;
    if (chosen) { chosen.classList.remove("chosen"); chosen.setAttribute("aria-selected", "false"); }
    chosen = links[here];
    chosen.classList.add("chosen");
    chosen.setAttribute("aria-selected", "true");
    if (focus) chosen.focus();
    tell(chosen);
  };
  // On the sheet: Chromium lets Tab stop at any part of an SVG that listens for focus itself.
  one("sheet").addEventListener("focusin", (event) => { if (links.includes(event.target)) choose(links.indexOf(event.target), false); });
  // Thin and dotted lines are hard to hit: what is painted within a few pixels counts.
  const known = new Set(links), around = [[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [.7, .7], [-.7, .7], [.7, -.7], [-.7, -.7]];
  const under = (event) => {
    for (const radius of [2, 4, 7]) {
      for (const [x, y] of around) {
        const found = document.elementFromPoint(event.clientX + radius * x, event.clientY + radius * y);
        if (known.has(found)) return found;
      }
    }
    return null;
  };
  drawing.addEventListener("click", (event) => { const link = under(event); if (link) choose(links.indexOf(link), true); });
  drawing.addEventListener("mousemove", (event) => {
    if (event.target.dataset.words) { about.textContent = event.target.dataset.words; return; }
    const link = under(event);
    if (link) tell(link);
  });
  drawing.addEventListener("mouseleave", () => { about.textContent = chosen ? chosen.getAttribute("aria-label") : idle; });
  one("links").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) choose(here + step, true);
    else if (event.key === "Home") choose(0, true);
    else if (event.key === "End") choose(links.length - 1, true);
    else return;
    event.preventDefault();
  });

  // Where a name would be smaller than can be read, names and host ports are left out until the drawing is larger.
  const far = () => 9.5 * drawing.clientWidth / drawing.viewBox.baseVal.width < 5;
  new ResizeObserver(() => { drawing.classList.toggle("far", far()); one("far").hidden = !far(); }).observe(drawing);

  // A switch's name marks it and goes to its first link; switch:port goes to that link.
  const nodes = [...document.querySelectorAll("[data-name]")];
  one("find").addEventListener("change", (event) => {
    const word = event.target.value.trim();
    nodes.forEach((node) => node.classList.toggle("found", node.dataset.name === word.split(":")[0]));
    if (!word) return;
    const found = links.findIndex((link) => link.getAttribute("aria-label").split(": ")[0].split(" to ").some(
      (end) => end === word || end.startsWith(word + ":")));
    if (found < 0) { about.textContent = "No switch or link is called " + word + "."; return; }
    choose(found, false);
    while (far() && zoom < 8) resize(1.6);
    chosen.scrollIntoView({ block: "center", inline: "center" });
  });

  let zoom = 1;
  const resize = (factor) => {
    zoom = Math.min(8, Math.max(1, zoom * factor));
    drawing.classList.toggle("zoomed", zoom > 1);
    drawing.style.width = zoom > 1 ? 100 * zoom + "%" : "";
    one("sheet").tabIndex = zoom > 1 ? 0 : -1;
  };
  one("more").addEventListener("click", () => resize(1.6));
  one("less").addEventListener("click", () => resize(1 / 1.6));

  // Host ports by what their sleep should be.
  const rows = [...document.querySelectorAll("#port-table tbody tr")];
  for (const box of document.querySelectorAll("input[name=verdict]")) {
    box.addEventListener("change", () => rows.forEach((row) => { row.hidden = box.value !== "" && row.dataset.verdict !== box.value; }));
  }

  // How long a pair of hosts is cut off: a digit in base 36 for each pair, which counts into the values.
  const between = one("between"), ends = [one("from"), one("to")];
  const answer = () => {
    const [from, to] = ends.map((end) => end.selectedIndex), hosts = ends[0].options.length;
    const seconds = between.dataset.values.split(" ")[parseInt(between.dataset.digits[from * hosts + to], 36)];
    const names = ends.map((end) => end.value);
    between.textContent = from === to ? "the same host" : Number(seconds) === 0 ? `${names[0]} always reaches ${names[1]}` : `${names[0]} does not reach ${names[1]} for ${seconds} s`;
  };
  if (between) { ends.forEach((end) => end.addEventListener("change", answer)); answer(); }

  addEventListener("beforeprint", () => document.querySelectorAll(".chart details, #fabric details").forEach((each) => { each.open = links.length <= 200; }));
})();
