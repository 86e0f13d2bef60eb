// Tells which protocol brought this page, as the browser measured it.
const names = {
  'http/1.0': 'HTTP/1.0',
  'http/1.1': 'HTTP/1.1',
  'h2': 'HTTP/2',
  'h2c': 'HTTP/2 without TLS',
  'h3': 'HTTP/3',
};

addEventListener('load', () => {
  const [entry] = performance.getEntriesByType('navigation');
  const name = entry && names[entry.nextHopProtocol];
  if (!name) return;

  const took = Math.max(1, Math.round(entry.responseEnd - entry.startTime));
  const strong = document.createElement('strong');
  strong.textContent = name;
  document.getElementById('protocol').replaceChildren(
      'This page came to you over ', strong, `, in ${took} ms.`);
});
