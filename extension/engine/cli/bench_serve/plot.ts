import type { LoadReport } from './report';

const WIDTH = 640;
const HEIGHT = 220;
const LEFT = 70;
const BOTTOM = 36;
const TOP = 28;

/** Two panels over the loads: tokens a second, and time to the first token (median and p95). An SVG file's text. */
export function plot(title: string, reports: readonly LoadReport[]): string {
  const panels = [
    panel(0, 'tokens a second', reports, [
      { name: 'all streams', color: '#2a6fbb', of: (r) => r.tok_s },
    ]),
    panel(HEIGHT, 'milliseconds to the first token', reports, [
      { name: 'median', color: '#2a6fbb', of: (r) => r.ttft_ms.p50 },
      { name: 'p95', color: '#c2571a', of: (r) => r.ttft_ms.p95 },
    ]),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${2 * HEIGHT + TOP}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
<text x="${WIDTH / 2}" y="18" text-anchor="middle" font-size="14">${escaped(title)}</text>
${panels.join('\n')}
</svg>
`;
}

interface Line {
  readonly name: string;
  readonly color: string;
  readonly of: (report: LoadReport) => number;
}

function panel(
  top: number,
  label: string,
  reports: readonly LoadReport[],
  lines: readonly Line[],
): string {
  const highest = Math.max(...reports.flatMap((report) => lines.map(({ of }) => of(report))), 1);
  const [y0, y1] = [top + HEIGHT - BOTTOM + TOP, top + TOP + 24];
  const x = (i: number) => LEFT + ((WIDTH - LEFT - 30) * (i + 0.5)) / reports.length;
  const y = (value: number) => y0 - ((y0 - y1) * value) / highest;
  const marks = [0, 0.5, 1].map(
    (share) =>
      `<line x1="${LEFT}" x2="${WIDTH - 30}" y1="${y(share * highest)}" y2="${y(share * highest)}" stroke="#ddd"/>` +
      `<text x="${LEFT - 8}" y="${y(share * highest) + 4}" text-anchor="end">${Math.round(share * highest)}</text>`,
  );
  const names = reports.map(
    ({ load }, i) =>
      `<text x="${x(i)}" y="${y0 + 16}" text-anchor="middle">${escaped(load)}</text>`,
  );
  const drawn = lines.map(({ name, color, of }, n) => {
    const points = reports.map((report, i) => `${x(i).toFixed(1)},${y(of(report)).toFixed(1)}`);
    const dots = points.map((point) => {
      const [cx = '', cy = ''] = point.split(',');
      return `<circle cx="${cx}" cy="${cy}" r="3" fill="${color}"/>`;
    });
    return (
      `<polyline points="${points.join(' ')}" fill="none" stroke="${color}" stroke-width="2"/>${dots.join('')}` +
      `<text x="${WIDTH - 34}" y="${y1 - 8 + 14 * n}" text-anchor="end" fill="${color}">${name}</text>`
    );
  });
  return [`<text x="${LEFT}" y="${y1 - 8}">${label}</text>`, ...marks, ...names, ...drawn].join(
    '\n',
  );
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}
