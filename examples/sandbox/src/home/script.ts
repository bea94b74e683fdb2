/** Copies the lines of a step. Where the browser has no clipboard for pages without TLS, they are selected instead. */
export const script = `
for (const button of document.querySelectorAll('button[data-copies]')) {
  button.hidden = false
  button.addEventListener('click', async () => {
    const code = document.getElementById(button.dataset.copies)
    const tell = (text) => {
      button.textContent = text
      setTimeout(() => { button.textContent = 'Copy' }, 1500)
    }
    try {
      await navigator.clipboard.writeText(code.textContent)
      tell('Copied')
    } catch {
      getSelection().selectAllChildren(code)
      tell('Selected')
    }
  })
}
`
