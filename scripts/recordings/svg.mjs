/** A screen of a terminal as a picture that is text: it stays sharp, and differs by lines. */

const colours = {
  31: '#ff7b72',
  32: '#56d364',
  33: '#e3b341',
  36: '#76e3ea',
  90: '#8b949e',
}
const [charWidth, lineHeight, margin] = [8.4, 19, 14]

/**
 * @param {string} screen what tmux has captured, with escapes
 * @param {number} columns
 * @param {string} title
 */
export function svgOf(screen, columns, title) {
  const lines = screen.split('\n')
  const width = Math.ceil(columns * charWidth + 2 * margin)
  const height = Math.ceil(lines.length * lineHeight + 2 * margin)
  const texts = lines.map((line, index) => {
    const y = margin + (index + 0.75) * lineHeight
    return `<text x="${margin}" y="${y.toFixed(1)}">${spansOf(line).join('')}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<title>${title}</title>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#e6edf3">
${texts.join('\n')}
</g>
</svg>
`
}

/** What tmux begins a change of colours with, and how it goes on: codes, an `m`, and text. */
const beginning = String.fromCharCode(27)

/** @param {string} line */
function spansOf(line) {
  let style = { bold: false, colour: '' }
  const [plain = '', ...painted] = line.split(`${beginning}[`)
  const spans = painted.map((part) => {
    const [, codes = '', text = ''] = /^([0-9;]*)m(.*)$/.exec(part) ?? []
    for (const code of codes.split(';').map(Number)) style = styled(style, code)
    return text === '' ? '' : spanOf(text, style)
  })
  return [plain === '' ? '' : spanOf(plain, { bold: false, colour: '' }), ...spans]
}

/**
 * @param {{ bold: boolean, colour: string }} style
 * @param {number} code
 */
function styled(style, code) {
  if (code === 0) return { bold: false, colour: '' }
  if (code === 1) return { ...style, bold: true }
  if (code === 22) return { ...style, bold: false }
  if (code === 39) return { ...style, colour: '' }
  return { ...style, colour: colours[/** @type {keyof typeof colours} */ (code)] ?? style.colour }
}

/**
 * @param {string} text
 * @param {{ bold: boolean, colour: string }} style
 */
function spanOf(text, { bold, colour }) {
  // Where several spaces stand together, some programs that show pictures leave one.
  const escaped = text
    .replaceAll(' ', '\u00a0')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
  if (!bold && colour === '') return escaped
  return `<tspan${bold ? ' font-weight="bold"' : ''}${colour === '' ? '' : ` fill="${colour}"`}>${escaped}</tspan>`
}
