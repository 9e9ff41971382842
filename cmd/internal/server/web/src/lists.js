// Reads URLs out of what people paste: lines, a sitemap, a CSV file with a column of URLs such as an export of Search Console.

const isURL = (s) => /^(https?|ftp):\/\/\S+$/i.test(s);

// fields splits a line of CSV.
function fields(line, separator) {
  const out = [];
  for (let at = 0; at <= line.length;) {
    if (line[at] === '"') {
      let text = '';
      for (at++; at < line.length && (line[at] !== '"' || line[at + 1] === '"'); at++) {
        text += line[at];
        at += line[at] === '"' ? 1 : 0;
      }
      out.push(text);
      at = (line.indexOf(separator, at + 1) + 1 || line.length + 1);
    } else {
      const end = line.indexOf(separator, at);
      out.push(line.slice(at, end < 0 ? undefined : end));
      at = (end + 1 || line.length + 1);
    }
  }
  return out.map((f) => f.trim());
}

// readURLs returns the URLs and paths in a text, each once.
export function readURLs(text) {
  let found;
  if (/<(urlset|sitemapindex)[\s>]/i.test(text)) {
    found = [...new DOMParser().parseFromString(text.trim(), 'application/xml').getElementsByTagNameNS('*', 'loc')].map((e) => e.textContent.trim());
  } else {
    const lines = text.replace(/^\ufeff/, '').split(/\r\n?|\n/).map((l) => l.trim()).filter(Boolean);
    const separator = ['\t', ',', ';'].find((c) => lines.length > 1 && lines[0].includes(c) && !isURL(lines[0]) && !lines[0].startsWith('/'));
    if (separator) {
      const rows = lines.map((l) => fields(l, separator));
      const named = rows[0].findIndex((f) => /^(urls?|pages?|address|top pages|landing page)$/i.test(f));
      const column = named >= 0 ? named : Math.max(0, rows[1].findIndex((f) => isURL(f)));
      found = rows.slice(rows[0].some(isURL) ? 0 : 1).map((r) => r[column] || '');
    } else {
      found = lines;
    }
  }
  return [...new Set(found.filter(Boolean))];
}
