import { script } from './script.js'
import type { StartedWith } from './started-with.js'
import type { Place, Section, Step } from './steps.js'
import { style } from './style.js'

/** The page as text. Everything that is not written here is escaped. */
export function homeHtml(place: Place, sections: readonly Section[], settings: readonly StartedWith[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>The sandbox of Hapax</title>
<style>${style}</style>
</head>
<body>
<header>
<p class="brand">Hapax <span>sandbox</span></p>
<h1>Every request here is safe to retry.</h1>
<p class="lead">It runs once, every retry gets the same answer, and when nobody can know whether it ran, it says so and finds out. Copy a line into a terminal, send it twice, change it, kill the server in the middle.</p>
<p class="notice"><strong>Nothing here is real.</strong> Airtm, Trustless Work and Finastra are simulated, with no affiliation to these companies. No money moves.</p>
${settings.map(settingHtml).join('\n')}
</header>
<div class="columns">
<nav aria-label="Systems">
<ul>
${sections.map(({ id, title }) => `<li><a href="#${id}">${escaped(title)}</a></li>`).join('\n')}
</ul>
<ul class="papers">
<li><a href="/openapi.json">OpenAPI</a></li>
<li><a href="/idempotency/policy">Policy of keys</a></li>
<li><a href="/idempotency/errors">Errors</a></li>
</ul>
</nav>
<main>
<section class="facts" aria-label="Who may ask">
<dl>
<div><dt>Address</dt><dd><code>${escaped(place.at)}</code></dd></div>
<div><dt>Tenant acme</dt><dd><code>Bearer ohk_test_acme</code>, or <code>…_2</code></dd></div>
<div><dt>Tenant globex</dt><dd><code>Bearer ohk_test_globex</code>, or <code>…_2</code></dd></div>
<div><dt>Users</dt><dd>two per tenant, with 10,000.00 USD each</dd></div>
</dl>
<p>The keys on this page are yours alone: load it again for new ones.</p>
</section>
${sections.map(sectionHtml).join('\n')}
</main>
</div>
<script>${script}</script>
</body>
</html>
`
}

function settingHtml({ setting, means }: StartedWith): string {
  return `<p class="notice"><strong>Started with <code>${escaped(setting)}</code>.</strong> ${escaped(means)}</p>`
}

function sectionHtml({ id, title, about, badge, steps }: Section): string {
  return `<section id="${id}">
<h2>${escaped(title)}</h2>
<p class="badge">${escaped(badge)}</p>
<p>${escaped(about)}</p>
<ol>
${steps.map((step, index) => stepHtml(step, `${id}-${index + 1}`)).join('\n')}
</ol>
</section>`
}

function stepHtml({ says, run, shows }: Step, id: string): string {
  return `<li>
<p>${escaped(says)}</p>
<div class="code"><button type="button" data-copies="${id}" hidden>Copy</button><pre tabindex="0"><code class="run" id="${id}">${coloured(run)}</code></pre></div>
<p class="shows"><span>shows</span> ${shows.map((text) => `<code>${escaped(text)}</code>`).join(' ')}</p>
</li>`
}

/** What is quoted stands out. The text stays what it is. */
function coloured(run: string): string {
  return escaped(run).replaceAll(/&#39;.*?&#39;/gs, (quoted) => `<i>${quoted}</i>`)
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
