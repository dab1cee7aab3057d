;;; vectors.el --- Checks that Emacs's own JSON preserves transcripts  -*- lexical-binding: t; -*-
;;; Commentary:
;; `emacs --batch -Q -l vectors.el'.  JUMPSEAT_VECTORS is the file of the vectors, JUMPSEAT_COMMAND as in
;; smoke.el.
;;; Code:
(require 'jsonrpc)

(defvar vectors-connection
  (jsonrpc-process-connection
   :name "jumpseat"
   :process (make-process :name "jumpseat" :connection-type 'pipe :coding 'utf-8-emacs-unix :noquery t
                          :command (append (json-parse-string (or (getenv "JUMPSEAT_COMMAND")
                                                                  "[\"jumpseat\", \"attach\"]")) nil)
                          :stderr (get-buffer-create "*jumpseat stderr*"))))

(defun vectors-request (method params)
  "Return the result of METHOD with PARAMS."
  (jsonrpc-request vectors-connection method params :timeout 20))

(defun vectors-text (conversation)
  "The text of CONVERSATION, which goes to the daemon as this editor writes it."
  (plist-get (vectors-request 'transcript/render
                              (list :messages (plist-get conversation :messages)
                                    :model (plist-get conversation :model)
                                    :system (plist-get conversation :system)
                                    :settings (plist-get conversation :settings)))
             :text))

(vectors-request 'initialize `(:processId ,(emacs-pid) :capabilities nil :rootUri nil))
(jsonrpc-notify vectors-connection 'initialized nil)

(let ((vectors (with-temp-buffer
                 (insert-file-contents (getenv "JUMPSEAT_VECTORS"))
                 (json-parse-buffer :object-type 'plist :null-object nil :false-object :json-false)))
      (failed nil))
  (mapc (lambda (each)
          (let ((wanted (or (plist-get each :rendered) (plist-get each :text)))
                (name (plist-get each :name))
                (read (vectors-request 'transcript/parse (list :text (plist-get each :text)))))
            ;; The vector itself, and what came over the wire.
            (unless (equal wanted (vectors-text each)) (push (vector name "vector") failed))
            (unless (equal wanted (vectors-text read)) (push (vector name "wire") failed))))
        vectors)
  (vectors-request 'shutdown nil)
  (jsonrpc-notify vectors-connection 'exit nil)
  (princ (format "%s\n" (json-serialize
                         (append (list :count (length vectors))
                                 (and failed (list :failed (vconcat failed))))))))
;;; vectors.el ends here
