// The site's search runs in a worker, and browsers start no worker for a page opened from a folder (file:).
// There, this class runs the worker's script in a hidden frame instead. Served over HTTP, nothing changes.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inside = frame.contentWindow
      this.loaded = new Promise((done) => frame.addEventListener("load", done))
      addEventListener("message", (event) => {
        if (event.source === this.inside) this.dispatchEvent(new MessageEvent("message", { data: event.data }))
      })
      const page = this.inside.document
      page.open()
      page.write(`<script>
        const tell = parent.postMessage.bind(parent)
        postMessage = (data) => tell(data, "*")
      </script><script src="${url}"></script>`)
      page.close()
    }
    postMessage(data) {
      this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
