// The search over names and headings. `entries` is in index.js.
// SPDX-License-Identifier: MIT-0
(function () {
  var box = document.getElementById("search");
  var list = document.getElementById("found");
  var chosen = -1;

  // Smaller is better; -1: not found. All words must be in the name or the text.
  function rank(entry, words) {
    var name = entry[0].toLowerCase(), text = entry[2].toLowerCase();
    var sum = 0;
    for (var i = 0; i < words.length; i++) {
      var w = words[i], at = name.indexOf(w);
      if (name === w || name === "ad_" + w) continue;
      if (at === 0 || name.indexOf("ad_" + w) === 0) sum += 1;
      else if (at > 0) sum += 2;
      else if (text.indexOf(w) >= 0) sum += 5;
      else return -1;
    }
    return sum + name.length / 100;
  }

  function show() {
    var words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    var hits = [];
    chosen = -1;
    list.textContent = "";
    if (!words.length) return;
    entries.forEach(function (e) {
      var r = rank(e, words);
      if (r >= 0) hits.push([r, e]);
    });
    hits.sort(function (a, b) { return a[0] - b[0]; });
    hits.slice(0, 30).forEach(function (hit) {
      var li = document.createElement("li"), a = document.createElement("a");
      var b = document.createElement("b"), span = document.createElement("span");
      a.href = hit[1][1];
      b.textContent = hit[1][0];
      span.textContent = hit[1][2];
      a.append(b, span);
      li.append(a);
      list.append(li);
    });
    if (!hits.length) list.textContent = "nothing found";
  }

  function move(step) {
    var links = list.querySelectorAll("a");
    if (!links.length) return;
    if (chosen >= 0) links[chosen].classList.remove("on");
    chosen = (chosen + step + links.length) % links.length;
    links[chosen].classList.add("on");
    links[chosen].scrollIntoView({ block: "nearest" });
  }

  box.addEventListener("input", show);
  box.form.addEventListener("submit", function (e) {
    e.preventDefault();
    var links = list.querySelectorAll("a");
    if (links.length) links[Math.max(chosen, 0)].click();
    list.textContent = "";
  });
  document.addEventListener("keydown", function (e) {
    if (e.key === "/" && document.activeElement !== box) {
      e.preventDefault();
      box.focus();
      box.select();
    } else if (e.key === "Escape") {
      list.textContent = "";
      box.blur();
    } else if (document.activeElement === box
               && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
      e.preventDefault();
      move(e.key === "ArrowDown" ? 1 : -1);
    }
  });
  document.addEventListener("click", function (e) {
    if (!box.form.contains(e.target)) list.textContent = "";
  });
  // A search as an address: index.html?q=gradient
  var asked = /[?&]q=([^&]*)/.exec(location.search);
  if (asked) {
    box.value = decodeURIComponent(asked[1].replace(/\+/g, " "));
    show();
  }
  var here = location.pathname.split("/").pop() || "index.html";
  document.querySelectorAll("nav a").forEach(function (a) {
    if (a.getAttribute("href") === here) a.className = "here";
  });
})();
