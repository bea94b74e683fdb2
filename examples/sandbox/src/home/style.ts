/** Light or dark, as the reader has it. */
export const style = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#fbfaf7, #14161a);
  --card: light-dark(#ffffff, #1b1e24);
  --ink: light-dark(#1d2127, #e6e4de);
  --soft: light-dark(#5c6470, #9aa1ad);
  --line: light-dark(#e5e1d8, #2c313a);
  --accent: light-dark(#0b6e5f, #5fd3bc);
  --code: light-dark(#f4f2ec, #101216);
  --quote: light-dark(#8a4b08, #e8b877);
  --warn: light-dark(#fff4da, #2b2414);
  --warn-line: light-dark(#ecd193, #5b4a1e);
}
* { box-sizing: border-box }
html { scroll-padding-top: 1.5rem }
body {
  margin: 0 auto; max-width: 74rem; padding: 0 1.25rem 5rem;
  background: var(--ground); color: var(--ink);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
header { padding: 3.5rem 0 1.5rem }
header p { max-width: 50rem }
.brand { margin: 0; font-weight: 700; letter-spacing: .01em; color: var(--accent) }
.brand span { font-weight: 400; color: var(--soft) }
h1 { margin: .4rem 0 .8rem; font-size: clamp(2rem, 5vw, 3.1rem); line-height: 1.1; letter-spacing: -.025em; text-wrap: balance }
h2 { margin: 0; font-size: 1.55rem; letter-spacing: -.015em }
.lead { margin: 0; font-size: 1.15rem; color: var(--soft) }
.notice {
  margin: 1.6rem 0 0; padding: .7rem 1rem; border: 1px solid var(--warn-line); border-radius: .6rem;
  background: var(--warn);
}
.columns { display: grid; grid-template-columns: 12rem minmax(0, 1fr); gap: 3rem }
nav { position: sticky; top: 1.5rem; align-self: start; padding-top: 1rem }
nav ul { list-style: none; margin: 0; padding: 0 }
nav .papers { margin-top: 1rem; padding-top: 1rem; border-top: 1px solid var(--line) }
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: .2em }
nav a { display: block; padding: .22rem 0; color: var(--soft); text-decoration: none }
nav a:hover { color: var(--accent) }
main > section { padding: 1rem 0 2.2rem; border-bottom: 1px solid var(--line) }
main > section + section { padding-top: 2.2rem }
main > section:last-child { border-bottom: 0 }
.facts p { margin: .8rem 0 0; color: var(--soft); font-size: .92rem }
dl { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .75rem; margin: 0 }
dl div { padding: .7rem 1rem; border: 1px solid var(--line); border-radius: .6rem; background: var(--card) }
dt { font-size: .8rem; color: var(--soft) }
dd { margin: 0 }
.badge { margin: .15rem 0 .6rem; font-size: .85rem; color: var(--accent) }
ol { margin: 1.2rem 0 0; padding: 0; list-style: none; counter-reset: step }
li { counter-increment: step }
ol > li { position: relative; margin-top: 1.6rem; padding-left: 2.4rem }
ol > li::before {
  content: counter(step); position: absolute; left: 0; top: .05rem; width: 1.55rem; height: 1.55rem;
  border: 1px solid var(--line); border-radius: 50%; font-size: .8rem; line-height: 1.5rem; text-align: center;
  color: var(--soft); background: var(--card);
}
ol p { margin: 0 0 .5rem }
.code { position: relative; border: 1px solid var(--line); border-radius: .6rem; background: var(--code) }
pre { margin: 0; padding: .85rem 1rem; overflow-x: auto }
pre:focus-visible, a:focus-visible, button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
code { font: .86rem/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace }
pre i { font-style: normal; color: var(--quote) }
button {
  position: absolute; top: .5rem; right: .5rem; padding: .2rem .7rem; border: 1px solid var(--line);
  border-radius: .4rem; background: var(--card); color: var(--soft); font: inherit; font-size: .8rem; cursor: pointer;
}
button:hover { color: var(--accent); border-color: var(--accent) }
ol .shows { margin: .45rem 0 0; font-size: .85rem; color: var(--soft) }
.shows code {
  display: inline-block; padding: 0 .45rem; border-radius: .35rem; background: var(--card);
  border: 1px solid var(--line); font-size: .8rem; color: var(--ink); overflow-wrap: anywhere;
}
@media (max-width: 52rem) {
  .columns { grid-template-columns: minmax(0, 1fr); gap: 0 }
  nav { position: static; padding: 0 }
  nav ul { display: flex; flex-wrap: wrap; gap: 0 1.1rem }
  nav .papers { margin-top: .3rem; padding-top: .3rem }
  dl { grid-template-columns: minmax(0, 1fr) }
  ol > li { padding-left: 0 }
  ol > li > p:first-child { padding-left: 2.2rem }
}
`
