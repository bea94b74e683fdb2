import { catalogue, type ErrorCode, type Fault } from '../kernel/errors.js'
import { adviceOn } from './advice.js'
import { statusIn } from './problem.js'
import type { Profile } from './profile.js'
import { ietf } from './profiles/ietf.js'

/**
 * The page that the `type` of every problem leads to, for people: one section per error, its code for an anchor. It needs
 * nothing from elsewhere. Give the profile of your routes, so that the statuses are theirs.
 *
 * @example
 * app.get('/idempotency/errors', (request, reply) => reply.type('text/html').send(errorsPage()))
 */
export function errorsPage(profile: Profile = ietf): string {
  const codes = Object.keys(catalogue) as ErrorCode[]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Errors about idempotency keys</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Errors about idempotency keys</h1>
<p>Recognise an error by its code. Where it is retryable, sending the same request with the same key again can help.</p>
<nav aria-label="Errors">
<ul>
${codes.map((code) => `<li><a href="#${code}">${code}</a></li>`).join('\n')}
</ul>
</nav>
${codes.map((code) => section(code, statusIn(profile, code))).join('\n')}
</main>
</body>
</html>
`
}

function section(code: ErrorCode, status: number): string {
  const { summary, fault, retryable } = catalogue[code]
  return `<section id="${code}" aria-labelledby="${code}-heading">
<h2 id="${code}-heading"><code>${code}</code></h2>
<p>${escaped(summary)}</p>
<dl>
<dt>Status</dt><dd>${status}</dd>
<dt>Whose fault</dt><dd>${whose[fault]}</dd>
<dt>Retryable</dt><dd>${retryable ? 'yes' : 'no'}</dd>
<dt>What to do</dt><dd>${escaped(adviceOn(code))}</dd>
</dl>
</section>`
}

/** A client is interested in whether it is his. */
const whose: Readonly<Record<Fault, string>> = {
  caller: 'the request (caller)',
  developer: 'the API (developer)',
  operator: 'the API (operator)',
  store: 'the API (store)',
  handler: 'the API (handler)',
}

const style = `
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 }
main { max-width: 45rem; margin: 0 auto; padding: 1rem }
code, nav a { font-family: ui-monospace, monospace; overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem }
dd { margin: 0 }
section:target { outline: .2rem solid; outline-offset: .5rem }
`

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
