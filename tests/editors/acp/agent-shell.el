;;; agent-shell.el --- Ask agent-shell a question, and print its shell -*- lexical-binding: t; -*-

;; Load it after the configuration of docs/acp.md.

(require 'agent-shell)

(setq agent-shell-session-strategy 'new
      agent-shell-agent-configs
      (list (seq-find (lambda (each) (and (consp each) (eq (map-elt each :identifier) 'jumpseat)))
                      agent-shell-agent-configs)))

(defun acp-test-wait (condition)
  "Wait up to 20 seconds for CONDITION."
  (let ((end (+ (float-time) 20)))
    (while (and (not (funcall condition)) (< (float-time) end))
      (accept-process-output nil 0.02)
      (sit-for 0.01))))

(agent-shell-start :config (car agent-shell-agent-configs))
(let ((shell (seq-find (lambda (each) (with-current-buffer each (derived-mode-p 'agent-shell-mode)))
                       (buffer-list))))
  (with-current-buffer shell
    (acp-test-wait (lambda () (map-nested-elt (agent-shell--state) '(:session :id))))
    (agent-shell-insert :text "Why is the sky blue?" :submit t :shell-buffer shell :no-focus t)
    (acp-test-wait (lambda () (string-match-p "Scattered\\." (buffer-string))))
    (princ (buffer-substring-no-properties (point-min) (point-max)))))
(kill-emacs 0)

;;; agent-shell.el ends here
